/**
 * Starting programs inside bubblewrap's namespaces: CPython's scripts and the shell tool's commands.
 *
 * Invariant: refused, never degraded. Without a way to bound processes nothing starts: a fork bomb gets out of namespaces
 * alone, because the kernel ignores `RLIMIT_NPROC` for root.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { Groups } from "./groups.ts";

const run = promisify(execFile);

/** Nobody, inside; outside it is still the user that Postern runs as. */
const nobodyId = "65534";

/** Every namespace of its own, no capability, no way to get one back, no environment, no terminal. */
export const ownNamespaces: readonly string[] = [
  ...["--unshare-all", "--unshare-user", "--uid", nobodyId, "--gid", nobodyId, "--disable-userns"],
  ...["--cap-drop", "ALL", "--clearenv", "--new-session", "--die-with-parent", "--hostname", "postern"],
];

export interface Startable {
  readonly command: string;
  readonly args: readonly string[];
}

export interface BubblewrapOptions {
  /** What its control groups are called: `postern-python`. */
  readonly name: string;
  readonly mostProcesses: number;
}

/** What a sandbox may have in memory, all of its processes together; where control groups can be had. */
export interface Bounds {
  readonly memoryBytes: number;
}

/** A machine on which bubblewrap can be used. */
export class Bubblewrap {
  readonly #path: string;
  readonly #mostProcesses: number;
  /** Where we are root: what each sandbox enters. */
  readonly groups: Groups | undefined;

  private constructor(path: string, mostProcesses: number, groups: Groups | undefined) {
    this.#path = path;
    this.#mostProcesses = mostProcesses;
    this.groups = groups;
  }

  /** @returns what starts sandboxes here, or why none can be started */
  static find({ name, mostProcesses }: BubblewrapOptions): Bubblewrap | { readonly missing: string } {
    if (process.platform !== "linux") return { missing: "bubblewrap needs Linux" };
    const path = firstOf("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap");
    if (path === undefined) return { missing: "`bwrap` is not installed (apt-get install bubblewrap)" };
    const isRoot = process.getuid?.() === 0;
    const groups = isRoot ? groupsOf(name, mostProcesses) : undefined;
    return isRoot && groups === undefined ? { missing: noGroups } : new Bubblewrap(path, mostProcesses, groups);
  }

  around(walls: readonly string[], bounds?: Bounds): Startable {
    if (this.groups !== undefined) return this.groups.around(this.#path, walls, bounds?.memoryBytes);
    const memory = bounds === undefined ? "" : `ulimit -v ${Math.ceil(bounds.memoryBytes / 1024)} && `;
    const script = `ulimit -u ${this.#mostProcesses} 2>/dev/null; ${memory}exec "$@"`;
    return { command: "/bin/sh", args: ["-c", script, "sh", this.#path, ...walls] };
  }

  /** Runs a program that ends with 0 when everything holds that it looks for. @returns why it does not */
  async problem(walls: readonly string[]): Promise<string | undefined> {
    const { command, args } = this.around(walls);
    const running = run(command, [...args], { env: {}, timeout: 10_000 });
    try {
      await running;
      return undefined;
    } catch (error) {
      const detail = error instanceof Error ? error.message.split("\n").slice(1, 3).join(" ").trim() : "";
      return `bubblewrap cannot isolate here${detail === "" ? "" : ` (${detail.slice(0, 200)})`}`;
    } finally {
      this.groups?.remove(running.child.pid ?? 0);
    }
  }
}

const opened = new Map<string, Groups>();

/** Opened once a process, and taken away when it ends. */
function groupsOf(name: string, mostProcesses: number): Groups | undefined {
  const key = `${name} ${mostProcesses}`;
  const groups = opened.get(key) ?? Groups.open(`${name}-${process.pid}`, mostProcesses);
  if (groups === undefined || opened.has(key)) return groups;
  opened.set(key, groups);
  process.once("exit", () => groups[Symbol.dispose]());
  return groups;
}

const noGroups =
  "it would run as root without control groups for its processes and memory; run Postern as another user, or let it make control groups";

export function firstOf(...paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}
