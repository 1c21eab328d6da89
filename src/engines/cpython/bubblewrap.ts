/** CPython closed in by the kernel: a file system of Python's own libraries, and a filter of system calls. */
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { Bubblewrap, firstOf, ownNamespaces, type Startable } from "../../core/system/bubblewrap.ts";
import type { Groups } from "../../core/system/groups.ts";
import { probeOf, pythonEnvironment, pythonFlags } from "./prelude/prelude.ts";

const mostProcesses = 32;
export const fileBytes: number = 16 * 1024 * 1024;
/** What `zoneinfo` reads; where a machine has none, Python knows UTC alone. */
export const timeZones = "/usr/share/zoneinfo";

export interface Isolation extends Startable {
  /** Where we are root: what it enters. */
  readonly groups: Groups | undefined;
}

/** @returns how CPython is started here, or why it is not */
export async function isolate(program: string): Promise<Isolation | { readonly missing: string }> {
  const bubblewrap = Bubblewrap.find({ name: "postern-python", mostProcesses });
  if ("missing" in bubblewrap) return bubblewrap;
  const python = firstOf("/usr/bin/python3", "/usr/local/bin/python3");
  if (python === undefined) return { missing: "`/usr/bin/python3` is not installed (apt-get install python3)" };
  const walls = [...wallsAround(python), realpathSync(python), ...pythonFlags, "-c"];
  const problem = await bubblewrap.problem([...walls, probeOf("bubblewrap")]);
  if (problem !== undefined) return { missing: problem };
  return { ...bubblewrap.around([...walls, program]), groups: bubblewrap.groups };
}

function wallsAround(python: string): readonly string[] {
  const prefix = dirname(dirname(realpathSync(python)));
  const libraries = [...new Set(["/usr/lib", "/usr/lib64", "/lib", "/lib64", join(prefix, "lib")])];
  const settings = Object.entries(pythonEnvironment).flatMap((pair) => ["--setenv", ...pair]);
  return [
    ...ownNamespaces,
    ...settings,
    ...libraries.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--ro-bind", realpathSync(python), realpathSync(python), "--dev-bind", "/dev/null", "/dev/null"],
    ...["--ro-bind-try", timeZones, timeZones],
    ...["/tmp", "/workspace"].flatMap((path) => ["--size", `${fileBytes}`, "--tmpfs", path]),
    ...["--chdir", "/workspace", "--"],
  ];
}
