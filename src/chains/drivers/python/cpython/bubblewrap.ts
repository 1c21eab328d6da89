/**
 * CPython closed in by the kernel: bubblewrap's namespaces, no capability, no network, no environment, a file system of
 * Python's own libraries, and a bound on processes.
 *
 * Invariant: refused, never degraded. Without a way to bound processes nothing starts: a fork bomb gets out of namespaces
 * alone, because the kernel ignores `RLIMIT_NPROC` for root.
 */
import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Groups } from "../../child/groups.ts";
import { pythonEnvironment, pythonFlags } from "../prelude/prelude.ts";
import { wallsProbe } from "../prelude/walls.ts";

const run = promisify(execFile);
const mostProcesses = 32;
export const fileBytes: number = 16 * 1024 * 1024;
const nobody = "65534";
/** What `zoneinfo` reads; where a machine has none, Python knows UTC alone. */
export const timeZones = "/usr/share/zoneinfo";

interface Started {
  readonly command: string;
  readonly args: readonly string[];
}

export interface Isolation extends Started {
  /** Where we are root: what it enters. */
  readonly groups: Groups | undefined;
}

/** @returns how CPython is started here, or why it is not */
export async function isolate(program: string): Promise<Isolation | { readonly missing: string }> {
  if (process.platform !== "linux") return { missing: "bubblewrap needs Linux" };
  const bwrap = first("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap");
  if (bwrap === undefined) return { missing: "`bwrap` is not installed (apt-get install bubblewrap)" };
  const python = first("/usr/bin/python3", "/usr/local/bin/python3");
  if (python === undefined) return { missing: "`/usr/bin/python3` is not installed (apt-get install python3)" };
  const groups = isRoot() ? Groups.open(`postern-python-${process.pid}`, mostProcesses) : undefined;
  if (isRoot() && groups === undefined) return { missing: noGroups };
  const walls = [...wallsAround(python), realpathSync(python), ...pythonFlags, "-c"];
  const problem = await tried(wrap(bwrap, [...walls, probe], groups), groups);
  if (groups !== undefined) process.once("exit", () => groups[Symbol.dispose]());
  return problem === undefined ? { ...wrap(bwrap, [...walls, program], groups), groups } : { missing: problem };
}

const noGroups =
  "it would run as root without control groups for its processes and memory; run Postern as another user, or let it make control groups";

/** The walls hold, and Python stands inside: it sees no network, no processes, starts none, and is nobody. */
const probe = `${wallsProbe}
sys.exit(0 if os.getuid() == 65534 and not os.path.exists("/proc/self") and not os.environ.get("HOME") else 3)`;

async function tried({ command, args }: Started, groups: Groups | undefined): Promise<string | undefined> {
  const running = run(command, [...args], { env: {}, timeout: 10_000 });
  try {
    await running;
    return undefined;
  } catch (error) {
    const said = error instanceof Error ? error.message.split("\n").slice(1, 3).join(" ").trim() : "";
    return `bubblewrap cannot isolate here${said === "" ? "" : ` (${said.slice(0, 200)})`}`;
  } finally {
    groups?.remove(running.child.pid ?? 0);
  }
}

function wallsAround(python: string): readonly string[] {
  const prefix = dirname(dirname(realpathSync(python)));
  const libraries = [...new Set(["/usr/lib", "/usr/lib64", "/lib", "/lib64", join(prefix, "lib")])];
  const settings = Object.entries(pythonEnvironment).flatMap((pair) => ["--setenv", ...pair]);
  return [
    ...["--unshare-all", "--unshare-user", "--uid", nobody, "--gid", nobody, "--disable-userns"],
    ...["--cap-drop", "ALL", "--clearenv", ...settings, "--new-session", "--die-with-parent", "--hostname", "postern"],
    ...libraries.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--ro-bind", realpathSync(python), realpathSync(python), "--dev-bind", "/dev/null", "/dev/null"],
    ...["--ro-bind-try", timeZones, timeZones],
    ...["/tmp", "/workspace"].flatMap((path) => ["--size", `${fileBytes}`, "--tmpfs", path]),
    ...["--chdir", "/workspace", "--"],
  ];
}

function wrap(bwrap: string, walls: readonly string[], groups: Groups | undefined): Started {
  if (groups !== undefined) return groups.around(bwrap, walls);
  const script = `ulimit -u ${mostProcesses} 2>/dev/null; exec "$@"`;
  return { command: "/bin/sh", args: ["-c", script, "sh", bwrap, ...walls] };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function first(...paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}
