/**
 * The Python around a script: the same text in every full CPython, whichever way it is isolated.
 *
 * Invariant: but for walls.ts and the limits in cpython-end.ts, which the kernel holds once they are set, nothing here is a
 * wall. A script can reach and change all of it; what it can do is only to ask, and the host checks what it asks. So the text
 * is free to be convenient.
 * Next: values.ts, bridge.ts, script.ts, again.ts, threads.ts, life.ts (in the order they stand), cpython-end.ts and pyodide-end.ts (their pipes).
 */
import { againSource } from "./again.ts";
import { bridgeSource } from "./bridge.ts";
import { cpythonEndSource } from "./cpython-end.ts";
import { lifeSource } from "./life.ts";
import { pyodideEndSource } from "./pyodide-end.ts";
import { scriptSource } from "./script.ts";
import { threadsSource } from "./threads.ts";
import { valuesSource } from "./values.ts";
import { wallsSource } from "./walls.ts";

const prelude = [valuesSource, bridgeSource, scriptSource, againSource, threadsSource, lifeSource].join("\n\n");

export const cpythonProgram: string = `${prelude}\n\n${wallsSource}\n\n${cpythonEndSource}`;
export const pyodideProgram: string = `${prelude}\n\n${pyodideEndSource}`;

/** Nothing of the machine's but Python itself: no site, no user's folder, no folder it stands in. */
export const pythonFlags: readonly string[] = ["-P", "-s", "-S", "-B", "-X", "utf8"];
/** All it has. `-I` would not read it, and sets would have another order every time. */
export const pythonEnvironment: Readonly<Record<string, string>> = { PYTHONHASHSEED: "0" };
