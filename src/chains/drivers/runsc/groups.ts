/** The kernel's bounds around a container and gVisor itself: how many processes and threads, how much memory. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const mostProcesses = 256; // gVisor's own threads are among them

interface Root {
  readonly controller: "pids" | "memory";
  readonly path: string;
}

/** One group a container, named by the process that runs it; version 1 or 2 of control groups, whichever is there. */
export class Groups implements Disposable {
  readonly #roots: readonly Root[];
  readonly #isFirstVersion: boolean;

  private constructor(roots: readonly Root[], isFirstVersion: boolean) {
    this.#roots = roots;
    this.#isFirstVersion = isFirstVersion;
  }

  /** Undefined where we may make none: nothing is started then. */
  static open(name: string): Groups | undefined {
    const isFirst = existsSync("/sys/fs/cgroup/pids") && existsSync("/sys/fs/cgroup/memory");
    const base = "/sys/fs/cgroup";
    const roots: readonly Root[] = (["pids", "memory"] as const).map((controller) => ({
      controller,
      path: join(isFirst ? join(base, controller) : base, name),
    }));
    try {
      for (const { path } of roots) mkdirSync(path, { recursive: true });
      if (!isFirst) {
        writeFileSync(join(base, "cgroup.subtree_control"), "+pids +memory");
        writeFileSync(join(base, name, "cgroup.subtree_control"), "+pids +memory");
      }
      return new Groups(roots, isFirst);
    } catch {
      for (const { path } of roots) remove(path); // not ours to make here
      return undefined;
    }
  }

  /** The folders a process enters before it becomes what it is: there is no moment in which it could fork outside. */
  get entries(): readonly string[] {
    return [...new Set(this.#roots.map(({ path }) => path))];
  }

  get processBound(): string {
    return String(mostProcesses);
  }

  /** How much memory all of a container may have; before a script is in it. */
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
    for (const path of this.entries) {
      for (const { name } of readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory()))
        remove(join(path, name)); // of one that never started
      remove(path);
    }
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

function remove(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // still dying, or never made
  }
}
