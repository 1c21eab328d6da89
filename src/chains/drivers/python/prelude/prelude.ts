/**
 * The Python around a script: the same text in every full CPython, whichever way it is isolated.
 *
 * Invariant: nothing here is a wall. A script can reach and change all of it; what it can do is only to ask, and the host
 * checks what it asks. So the text is free to be convenient.
 * Next: values.ts, bridge.ts, script.ts, life.ts (in the order they stand), cpython-end.ts and pyodide-end.ts (their pipes).
 */
import { bridgeSource } from "./bridge.ts";
import { cpythonEndSource } from "./cpython-end.ts";
import { lifeSource } from "./life.ts";
import { pyodideEndSource } from "./pyodide-end.ts";
import { scriptSource } from "./script.ts";
import { valuesSource } from "./values.ts";

const prelude = [valuesSource, bridgeSource, scriptSource, lifeSource].join("\n\n");

export const cpythonProgram: string = `${prelude}\n\n${cpythonEndSource}`;
export const pyodideProgram: string = `${prelude}\n\n${pyodideEndSource}`;
