/**
 * CPython closed in by the kernel: bubblewrap's namespaces, no capability, no network, no environment, a file system of
 * Python's own libraries, and a bound on processes.
 *
 * Invariant: refused, never degraded. Without a way to bound processes nothing starts: a fork bomb gets out of namespaces
 * alone, because the kernel ignores `RLIMIT_NPROC` for root.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, realpathSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { pythonEnvironment, pythonFlags } from "./prelude/prelude.ts";
import { wallsProbe } from "./prelude/walls.ts";

const run = promisify(execFile);
const mostProcesses = 32;
export const fileBytes: number = 16 * 1024 * 1024;
const nobody = "65534";
/** What `zoneinfo` reads; where a machine has none, Python knows UTC alone. */
export const timeZones = "/usr/share/zoneinfo";

export interface Isolation {
  readonly command: string;
  readonly args: readonly string[];
  /** Takes away what a process left behind. */
  tidy(pid: number): void;
}

/** @returns how CPython is started here, or why it is not */
export async function isolate(program: string): Promise<Isolation | { readonly missing: string }> {
  if (process.platform !== "linux") return { missing: "bubblewrap needs Linux" };
  const bwrap = first("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap");
  if (bwrap === undefined) return { missing: "`bwrap` is not installed (apt-get install bubblewrap)" };
  const python = first("/usr/bin/python3", "/usr/local/bin/python3");
  if (python === undefined) return { missing: "`/usr/bin/python3` is not installed (apt-get install python3)" };
  const group = isRoot() ? processGroup() : undefined;
  if (isRoot() && group === undefined)
    return {
      missing: "it would run as root without a pids cgroup; run Postern as another user, or let it make a cgroup",
    };
  const walls = [...wallsAround(python), realpathSync(python), ...pythonFlags, "-c"];
  const wrapped = wrap(bwrap, [...walls, program], group);
  const problem = await tried(wrap(bwrap, [...walls, probe], group));
  if (problem !== undefined) return { missing: problem };
  return { ...wrapped, tidy: (pid) => tidy(group, pid) };
}

/** The walls hold, and Python stands inside: it sees no network, no processes, starts none, and is nobody. */
const probe = `${wallsProbe}
sys.exit(0 if os.getuid() == 65534 and not os.path.exists("/proc/self") and not os.environ.get("HOME") else 3)`;

async function tried({ command, args }: Pick<Isolation, "command" | "args">): Promise<string | undefined> {
  try {
    await run(command, [...args], { env: {}, timeout: 10_000 });
    return undefined;
  } catch (error) {
    const said = error instanceof Error ? error.message.split("\n").slice(1, 3).join(" ").trim() : "";
    return `bubblewrap cannot isolate here${said === "" ? "" : ` (${said.slice(0, 200)})`}`;
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

/** Into its group first, then what it is: there is no moment in which it could fork outside. */
function wrap(
  bwrap: string,
  walls: readonly string[],
  group: ProcessGroup | undefined,
): Pick<Isolation, "command" | "args"> {
  if (group === undefined) {
    const script = `ulimit -u ${mostProcesses} 2>/dev/null; exec "$@"`;
    return { command: "/bin/sh", args: ["-c", script, "sh", bwrap, ...walls] };
  }
  const script = `set -e; d="$1/$$"; shift; mkdir "$d"; echo ${mostProcesses} > "$d/pids.max"; echo $$ > "$d/cgroup.procs"; exec "$@"`;
  return { command: "/bin/sh", args: ["-c", script, "sh", group.path, bwrap, ...walls] };
}

interface ProcessGroup {
  readonly path: string;
}

/** A folder of the pids controller that is ours, first version or second. */
function processGroup(): ProcessGroup | undefined {
  for (const root of ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"]) {
    const path = join(root, `postern-${process.pid}`);
    sweep(root);
    try {
      mkdirSync(path, { recursive: true });
      if (root === "/sys/fs/cgroup") writeFileSync(join(path, "cgroup.subtree_control"), "+pids");
      if (existsSync(join(path, "pids.max")) || root === "/sys/fs/cgroup") {
        process.once("exit", () => tidyFolder(path));
        return { path };
      }
      tidyFolder(path);
    } catch {
      tidyFolder(path); // not ours to make here: the next place, or none
    }
  }
  return undefined;
}

function tidy(group: ProcessGroup | undefined, pid: number): void {
  if (group !== undefined) tidyFolder(join(group.path, `${pid}`));
}

/** What processes of ours that were killed could not take away. */
function sweep(root: string): void {
  for (const name of existsSync(root) ? readdirSync(root) : []) {
    const [, owner] = /^postern-(\d+)$/.exec(name) ?? [];
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue;
    for (const child of namesIn(join(root, name))) if (/^\d+$/.test(child)) tidyFolder(join(root, name, child));
    tidyFolder(join(root, name));
  }
}

/** None where another process of ours was faster and has swept it. */
function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function tidyFolder(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // still dying, or never made: an empty folder of the kernel's, no more
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function first(...paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}
