/** The kernel's bounds around a sandbox and all that stands in it: how many processes and threads, how much memory. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isAlive } from "../../../system/alive.ts";

const usualProcesses = 256; // gVisor's own threads are among them

/** Into its groups first, then what it is: there is no moment in which it could fork outside. They are named after the process, whose number `exec` keeps. */
const entering = [
  'set -e; bound="$1"; left="$2"; shift 2',
  'while [ "$left" -gt 0 ]; do d="$1/$$"; shift; left=$((left - 1)); mkdir "$d"',
  '[ ! -e "$d/pids.max" ] || echo "$bound" > "$d/pids.max"; echo $$ > "$d/cgroup.procs"; done',
  'exec "$@"',
].join("; ");

interface Root {
  readonly controller: "pids" | "memory";
  readonly path: string;
}

/** One group a sandbox, named by its process; version 1 or 2 of control groups, whichever is there. */
export class Groups implements Disposable {
  readonly #roots: readonly Root[];
  readonly #isFirstVersion: boolean;
  readonly #mostProcesses: number;

  private constructor(roots: readonly Root[], isFirstVersion: boolean, mostProcesses: number) {
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
    const roots: readonly Root[] = (["pids", "memory"] as const).map((controller) => ({
      controller,
      path: join(isFirst ? join(base, controller) : base, name),
    }));
    try {
      for (const { path } of roots) sweep(dirname(path));
      // With `recursive`, Node asks for ever where the kernel makes none.
      for (const { path } of roots) if (!existsSync(path)) mkdirSync(path);
      if (!isFirst) {
        writeFileSync(join(base, "cgroup.subtree_control"), "+pids +memory");
        writeFileSync(join(base, name, "cgroup.subtree_control"), "+pids +memory");
      }
      return new Groups(roots, isFirst, mostProcesses);
    } catch {
      for (const { path } of roots) remove(path); // not ours to make here
      return undefined;
    }
  }

  get entries(): readonly string[] {
    return [...new Set(this.#roots.map(({ path }) => path))];
  }

  /** How something is started that is in its groups before it becomes what it is. */
  around(command: string, args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
    const given = [String(this.#mostProcesses), String(this.entries.length), ...this.entries, command, ...args];
    return { command: "/bin/sh", args: ["-c", entering, "sh", ...given] };
  }

  /** For one that runs already. The kernel takes milliseconds for it. @throws Error where it is not let in */
  async enter(pid: number): Promise<void> {
    for (const path of this.entries) {
      await mkdir(join(path, `${pid}`));
      await writeFile(join(path, `${pid}`, "cgroup.procs"), String(pid));
    }
    this.#write(pid, "pids", "pids.max", String(this.#mostProcesses));
  }

  /** How much memory all of it may have; before a script is in it. */
  bound(pid: number, bytes: number): void {
    if (this.#isFirstVersion) this.#write(pid, "memory", "memory.limit_in_bytes", String(bytes));
    else this.#write(pid, "memory", "memory.max", String(bytes));
  }

  /** Whether the kernel ended something in it for want of memory. */
  wasShort(pid: number): boolean {
    const file = this.#isFirstVersion ? "memory.oom_control" : "memory.events";
    return /^oom_kill [1-9]/m.test(this.#read(pid, "memory", file));
  }

  /** The kernel takes it when the last of its processes is gone. */
  remove(pid: number): void {
    for (const { path } of this.#roots) remove(join(path, `${pid}`));
  }

  [Symbol.dispose](): void {
    for (const path of this.entries) clear(path);
  }

  #write(pid: number, controller: Root["controller"], file: string, text: string): void {
    const root = this.#roots.find((one) => one.controller === controller);
    if (root !== undefined) writeFileSync(join(root.path, `${pid}`, file), text);
  }

  #read(pid: number, controller: Root["controller"], file: string): string {
    const root = this.#roots.find((one) => one.controller === controller);
    try {
      return root === undefined ? "" : readFileSync(join(root.path, `${pid}`, file), "latin1");
    } catch {
      return ""; // it is gone
    }
  }
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
