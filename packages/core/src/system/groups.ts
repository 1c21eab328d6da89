/** Control groups of the kernel that limit all processes of a sandbox: their number and their memory. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "./error-code.ts";

/**
 * A shell enters the groups and then becomes the program with `exec`, so the program never runs outside them. The
 * groups are named after the process id.
 */
const enterScript = [
  'set -e; bound="$1"; memory="$2"; left="$3"; shift 3',
  'while [ "$left" -gt 0 ]; do d="$1/$$"; shift; left=$((left - 1)); mkdir "$d"',
  '[ ! -e "$d/pids.max" ] || echo "$bound" > "$d/pids.max"',
  'if [ -n "$memory" ]; then for f in memory.max memory.limit_in_bytes; do [ ! -e "$d/$f" ] || echo "$memory" > "$d/$f"; done; fi',
  'echo $$ > "$d/cgroup.procs"; done',
  'exec "$@"',
].join("; ");

/** In version 2 both are the same folder. */
interface Roots {
  readonly pids: string;
  readonly memory: string;
}

/** One group a sandbox, named by its process id, in version 1 or 2 of control groups. */
export class Groups implements Disposable {
  readonly #roots: Roots;
  readonly #isFirstVersion: boolean;
  readonly #mostProcesses: number;

  private constructor(roots: Roots, isFirstVersion: boolean, mostProcesses: number) {
    this.#roots = roots;
    this.#isFirstVersion = isFirstVersion;
    this.#mostProcesses = mostProcesses;
  }

  /**
   * Returns undefined where Postern may not make groups.
   *
   * @param name begins with `postern-` and contains this process's id, so that a later process can remove what a killed
   * one left
   */
  static open(name: string, mostProcesses: number): Groups | undefined {
    const isFirst = existsSync("/sys/fs/cgroup/pids") && existsSync("/sys/fs/cgroup/memory");
    const base = "/sys/fs/cgroup";
    const [pids = base, memory = base] = isFirst ? ["pids", "memory"].map((controller) => join(base, controller)) : [];
    const roots: Roots = { pids: join(pids, name), memory: join(memory, name) };
    try {
      for (const path of foldersOf(roots)) sweep(dirname(path));
      // With `recursive`, Node never returns where the kernel refuses a folder.
      for (const path of foldersOf(roots)) if (!existsSync(path)) mkdirSync(path);
      if (!isFirst) {
        writeFileSync(join(base, "cgroup.subtree_control"), "+pids +memory");
        writeFileSync(join(base, name, "cgroup.subtree_control"), "+pids +memory");
      }
      return new Groups(roots, isFirst, mostProcesses);
    } catch {
      for (const path of foldersOf(roots)) remove(path); // groups may not be made here
      return undefined;
    }
  }

  get entries(): readonly string[] {
    return foldersOf(this.#roots);
  }

  /** The command that starts a program inside its groups. */
  commandInside(
    command: string,
    args: readonly string[],
    memoryBytes?: number,
  ): { readonly command: string; readonly args: readonly string[] } {
    const bounds = [String(this.#mostProcesses), memoryBytes === undefined ? "" : String(memoryBytes)];
    const given = [...bounds, String(this.entries.length), ...this.entries, command, ...args];
    return { command: "/bin/sh", args: ["-c", enterScript, "sh", ...given] };
  }

  /** Limits the memory of the group. Call it before a script runs. */
  limitMemory(pid: number, bytes: number): void {
    const name = this.#isFirstVersion ? "memory.limit_in_bytes" : "memory.max";
    writeFileSync(this.#file(pid, "memory", name), String(bytes));
  }

  /** Whether the kernel ended a process of the group because memory ran out. */
  ranOutOfMemory(pid: number): boolean {
    const name = this.#isFirstVersion ? "memory.oom_control" : "memory.events";
    try {
      return /^oom_kill [1-9]/m.test(readFileSync(this.#file(pid, "memory", name), "latin1"));
    } catch {
      return false; // the group is gone
    }
  }

  /** The kernel removes a group when its last process has ended. */
  remove(pid: number): void {
    for (const path of this.entries) remove(join(path, `${pid}`));
  }

  [Symbol.dispose](): void {
    for (const path of this.entries) clear(path);
  }

  #file(pid: number, controller: keyof Roots, name: string): string {
    return join(this.#roots[controller], `${pid}`, name);
  }
}

function foldersOf({ pids, memory }: Roots): readonly string[] {
  return [...new Set([pids, memory])];
}

/** Removes what a killed Postern left. */
function sweep(root: string): void {
  for (const name of foldersIn(root)) {
    const owner = Number(/^postern-(?:[a-z]+-)*(\d+)/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isSafeInteger(owner) && !isAlive(owner)) clear(join(root, name));
  }
}

/** Removes also the folders of sandboxes that never started. */
function clear(path: string): void {
  for (const name of foldersIn(path)) remove(join(path, name));
  remove(path);
}

function foldersIn(path: string): readonly string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return []; // another Postern process removed it first
  }
}

function remove(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // it still has processes, or was never made
  }
}

/** Whether a process runs, under any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return codeOf(error) === "EPERM"; // it lives, under another user
  }
}

/** Killed but not yet reaped by its parent, so nothing of it runs. Known only on systems with /proc. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) === "Z";
  } catch {
    return false; // no /proc, or the process has ended
  }
}
