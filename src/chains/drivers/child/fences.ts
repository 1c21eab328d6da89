/**
 * What stands around a sandbox's process besides the engine's own walls, and what of it this host has.
 *
 * `node --permission` keeps JavaScript in the process from files, processes, threads and add-ons; it does not close the
 * network (measured, Node 24). What does: once the engine is loaded the process may open nothing any more. Its limit
 * on open descriptors is set to zero from outside, so that `socket`, `open` and `pipe` fail in the kernel, together with
 * its limits on processes, threads, written bytes and core files.
 */
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../../calls/fault.ts";

const run = promisify(execFile);
const prlimitPaths = ["/usr/bin/prlimit", "/bin/prlimit"] as const;
const prlimit = prlimitPaths.find((path) => existsSync(path));

export interface FenceLimits {
  /** Processor time of the whole process, its start included. The engine's own budget ends a script long before. */
  readonly cpuSeconds: number;
}

/** Which fences this host has; shown by `postern doctor`, and nothing is claimed that is not there. */
export function fencesHere(): readonly string[] {
  return ["permissions", ...(prlimit === undefined ? [] : ["limits"]), ...(process.getuid?.() === 0 ? ["nobody"] : [])];
}

/**
 * From here on the process can open, start and write nothing.
 *
 * @returns why it could not be closed in; undefined when it is, or when this host has no `prlimit` (`fencesHere` says so)
 */
export async function closeIn(pid: number, limits: FenceLimits): Promise<string | undefined> {
  if (prlimit === undefined) return undefined;
  const bounds = [
    "--nofile=0:0",
    "--nproc=0:0",
    "--fsize=0:0",
    "--core=0:0",
    `--cpu=${limits.cpuSeconds}:${limits.cpuSeconds}`,
  ];
  try {
    await run(prlimit, ["--pid", `${pid}`, ...bounds], { env: {}, timeout: 5_000, ...(await sameUser(pid)) });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** A root without CAP_SYS_RESOURCE (a container's) may limit only its own: the process is asked as the user it has become. */
async function sameUser(pid: number): Promise<{ readonly uid?: number; readonly gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const status = await readFile(`/proc/${pid}/status`, "latin1");
  const [uid, gid] = ["Uid", "Gid"].map((name) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

/** The flags of a Node process that may read these folders and do nothing else. */
export function permissionFlags(readable: readonly string[]): readonly string[] {
  return [
    "--permission",
    ...readable.map((path) => `--allow-fs-read=${path}`),
    "--no-warnings",
    "--disable-proto=delete",
    "--disallow-code-generation-from-strings",
  ];
}

let empty: string | undefined;

/** One folder with nothing in it, where every sandbox starts. Made anew when somebody has tidied up the temporary ones. */
export function emptyFolder(): string {
  if (empty !== undefined && existsSync(empty)) return empty;
  const path = mkdtempSync(join(tmpdir(), "postern-empty-"));
  chmodSync(path, 0o555);
  if (empty === undefined) process.once("exit", removeEmpty);
  empty = path;
  return path;
}

function removeEmpty(): void {
  if (empty !== undefined) rmSync(empty, { recursive: true, force: true });
}
