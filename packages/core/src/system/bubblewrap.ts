/**
 * Starts programs inside bubblewrap's namespaces: CPython's scripts and the shell tool's commands.
 * Invariant: refused, never degraded. Nothing starts without a limit on processes, because the kernel ignores
 * `RLIMIT_NPROC` for root and a fork bomb would reach beyond the namespaces.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { Groups } from "./groups.ts";

const run = promisify(execFile);

/** The user `nobody` inside. Outside it is still the user that Postern runs as. */
const nobodyId = "65534";

/** All namespaces separate, no capabilities and no way to regain one, no environment, no terminal. */
export const ownNamespaces: readonly string[] = [
  ...["--unshare-all", "--unshare-user", "--uid", nobodyId, "--gid", nobodyId, "--disable-userns"],
  ...["--cap-drop", "ALL", "--clearenv", "--new-session", "--die-with-parent", "--hostname", "postern"],
];

export interface Startable {
  readonly command: string;
  readonly args: readonly string[];
}

export interface BubblewrapOptions {
  /** The name of its control groups: `postern-python`. */
  readonly name: string;
  readonly mostProcesses: number;
}

/** The memory limit of all processes of a sandbox together, where control groups are available. */
export interface Bounds {
  readonly memoryBytes: number;
}

/** A machine on which bubblewrap can be used. */
export class Bubblewrap {
  readonly #path: string;
  readonly #mostProcesses: number;
  /** As root: the groups that each sandbox enters. */
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

  around(sandboxArguments: readonly string[], bounds?: Bounds): Startable {
    if (this.groups !== undefined) return this.groups.commandInside(this.#path, sandboxArguments, bounds?.memoryBytes);
    const memory = bounds === undefined ? "" : `ulimit -v ${Math.ceil(bounds.memoryBytes / 1024)} && `;
    const script = `ulimit -u ${this.#mostProcesses} 2>/dev/null; ${memory}exec "$@"`;
    return { command: "/bin/sh", args: ["-c", script, "sh", this.#path, ...sandboxArguments] };
  }

  /** Runs a program that exits with 0 when all its checks hold. @returns why they do not */
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

/** Opened once a process and removed at its end. */
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
