/**
 * The Python programs around a script, joined from the `.py` files of this folder. They are the same for every CPython,
 * however it is isolated.
 * Only system_calls.py and the limits in cpython_pipe.py isolate; the kernel enforces both once they are set. A script
 * can change everything else. That lets it send other frames, and the host checks every frame.
 */
import { readFileSync } from "node:fs";

type PreludePart =
  | "taken_names"
  | "values"
  | "bridge"
  | "script"
  | "replay"
  | "threads"
  | "life"
  | "system_calls"
  | "cpython_pipe"
  | "pyodide_pipe"
  | "probe";

/** The text of one of the files. */
export function pythonSource(name: PreludePart): string {
  return readFileSync(new URL(`./${name}.py`, import.meta.url), "utf8");
}

/** The files share one scope, so their order counts. */
function joined(...names: readonly PreludePart[]): string {
  return names.map(pythonSource).join("\n\n");
}

const prelude = joined("taken_names", "values", "bridge", "script", "replay", "threads", "life");

export const cpythonProgram: string = `${prelude}\n\n${joined("system_calls", "cpython_pipe")}`;
export const pyodideProgram: string = `${prelude}\n\n${joined("pyodide_pipe")}`;

/** A program that ends with 0 if the isolation holds. */
export const probeProgram: string = joined("system_calls", "probe");

/** Python without packages, user folder and current folder. */
export const pythonFlags: readonly string[] = ["-P", "-s", "-S", "-B", "-X", "utf8"];
/** The whole environment. `-I` would ignore it, and the order of sets would change from run to run. */
export const pythonEnvironment: Readonly<Record<string, string>> = { PYTHONHASHSEED: "0" };
/** The folder that `zoneinfo` reads. Python knows only UTC on a machine without it. */
export const timeZones = "/usr/share/zoneinfo";
