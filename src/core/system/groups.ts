/** The kernel's bounds around a sandbox and all that stands in it: how many processes and threads, how much memory. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isAlive } from "./alive.ts";

const usualProcesses = 256; // gVisor's own threads are among them

/** Into its groups first, then what it is: there is no moment in which it could fork outside. They are named after the process, whose number `exec` keeps. */
const entering = [
  'set -e; bound="$1"; memory="$2"; left="$3"; shift 3',
  'while [ "$left" -gt 0 ]; do d="$1/$$"; shift; left=$((left - 1)); mkdir "$d"',
  '[ ! -e "$d/pids.max" ] || echo "$bound" > "$d/pids.max"',
  'if [ -n "$memory" ]; then for f in memory.max memory.limit_in_bytes; do [ ! -e "$d/$f" ] || echo "$memory" > "$d/$f"; done; fi',
  'echo $$ > "$d/cgroup.procs"; done',
  'exec "$@"',
].join("; ");

/** The same folder for both in version 2. */
interface Roots {
  readonly pids: string;
  readonly memory: string;
}

/** One group a sandbox, named by its process; version 1 or 2 of control groups, whichever is there. */
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
   * Undefined where we may make none.
   *
   * @param name begins with `postern-` and has the number of this process in it: what one leaves that was killed, the next takes away
   */
  static open(name: string, mostProcesses: number = usualProcesses): Groups | undefined {
    const isFirst = existsSync("/sys/fs/cgroup/pids") && existsSync("/sys/fs/cgroup/memory");
    const base = "/sys/fs/cgroup";
    const [pids = base, memory = base] = isFirst ? ["pids", "memory"].map((controller) => join(base, controller)) : [];
    const roots: Roots = { pids: join(pids, name), memory: join(memory, name) };
    try {
      for (const path of foldersOf(roots)) sweep(dirname(path));
      // With `recursive`, Node asks for ever where the kernel makes none.
      for (const path of foldersOf(roots)) if (!existsSync(path)) mkdirSync(path);
      if (!isFirst) {
        writeFileSync(join(base, "cgroup.subtree_control"), "+pids +memory");
        writeFileSync(join(base, name, "cgroup.subtree_control"), "+pids +memory");
      }
      return new Groups(roots, isFirst, mostProcesses);
    } catch {
      for (const path of foldersOf(roots)) remove(path); // not ours to make here
      return undefined;
    }
  }

  get entries(): readonly string[] {
    return foldersOf(this.#roots);
  }

  /** How something is started that is in its groups before it becomes what it is. */
  around(
    command: string,
    args: readonly string[],
    memoryBytes?: number,
  ): { readonly command: string; readonly args: readonly string[] } {
    const bounds = [String(this.#mostProcesses), memoryBytes === undefined ? "" : String(memoryBytes)];
    const given = [...bounds, String(this.entries.length), ...this.entries, command, ...args];
    return { command: "/bin/sh", args: ["-c", entering, "sh", ...given] };
  }

  /** How much memory all of it may have; before a script is in it. */
  bound(pid: number, bytes: number): void {
    const name = this.#isFirstVersion ? "memory.limit_in_bytes" : "memory.max";
    writeFileSync(this.#file(pid, "memory", name), String(bytes));
  }

  /** Whether the kernel ended something in it for want of memory. */
  wasShort(pid: number): boolean {
    const name = this.#isFirstVersion ? "memory.oom_control" : "memory.events";
    try {
      return /^oom_kill [1-9]/m.test(readFileSync(this.#file(pid, "memory", name), "latin1"));
    } catch {
      return false; // it is gone
    }
  }

  /** The kernel takes it when the last of its processes is gone. */
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

/** What a Postern left that was killed. */
function sweep(root: string): void {
  for (const name of foldersIn(root)) {
    const owner = Number(/^postern-(?:[a-z]+-)*(\d+)/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isSafeInteger(owner) && !isAlive(owner)) clear(join(root, name));
  }
}

/** With the folders of those that never started. */
function clear(path: string): void {
  for (const name of foldersIn(path)) remove(join(path, name));
  remove(path);
}

function foldersIn(path: string): readonly string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return []; // another process of ours was faster
  }
}

function remove(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // still dying, or never made
  }
}
