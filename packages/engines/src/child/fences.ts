/**
 * The limits around a child process, besides those of the engine.
 *
 * `node --permission` keeps JavaScript in the process from files, processes, threads and add-ons; it does not close the
 * network. So once the engine is loaded, the host sets the process's limit of open descriptors to zero. Then `socket`,
 * `open` and `pipe` fail in the kernel. Processes, threads, written bytes and core files are limited the same way.
 */
import { execFile } from "node:child_process";
import { chmodSync, existsSync, lstatSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { messageOf } from "@postern/core";
import { sourceOptions, temporaryFolder } from "@postern/core/system";

const run = promisify(execFile);
const longestRunMs = 5_000;
const prlimitPaths = ["/usr/bin/prlimit", "/bin/prlimit"] as const;
const prlimit = prlimitPaths.find((path) => existsSync(path));

export interface FenceLimits {
  /** Processor time of the whole process, its start included. The engine's own budget ends a script earlier. */
  readonly cpuSeconds: number;
}

/** The limits that this host can set; `postern doctor` shows them. */
export function fencesHere(): readonly string[] {
  return ["permissions", ...(prlimit === undefined ? [] : ["limits"]), ...(process.getuid?.() === 0 ? ["nobody"] : [])];
}

/**
 * After this the process can open, start and write nothing.
 *
 * @returns why the limits could not be set; undefined when they are, or when this host has no `prlimit` (see `fencesHere`)
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
    await run(prlimit, ["--pid", `${pid}`, ...bounds], { env: {}, timeout: longestRunMs, ...(await userOf(pid)) });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The user that the process has become: root without CAP_SYS_RESOURCE may limit only processes of the same user. */
async function userOf(pid: number): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const status = await readFile(`/proc/${pid}/status`, "latin1");
  const [uid = 0, gid = 0] = ["Uid", "Gid"].map((name) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0),
  );
  return { uid, gid };
}

/** The flags of a Node process that may read these folders and do nothing else. */
export function permissionFlags(readable: readonly string[]): readonly string[] {
  return [
    "--permission",
    ...sourceOptions,
    ...readable.map((path) => `--allow-fs-read=${path}`),
    "--no-warnings",
    "--disable-proto=delete",
    "--disallow-code-generation-from-strings",
  ];
}

/** A child's program: a source file here, and one bundled file in the built package. */
export function programBeside(url: string, name: string): string {
  return fileURLToPath(new URL(`./${name}.${url.endsWith(".ts") ? "ts" : "js"}`, url));
}

/** What the program may read: itself, and for a source file also what it imports, of this package and of the core. */
export function readableFor(program: string): readonly string[] {
  if (program.endsWith(".ts")) {
    const core = dirname(createRequire(import.meta.url).resolve("@postern/core/package.json"));
    const ours = upwards(program).find((folder) => existsSync(join(folder, "package.json"))) ?? dirname(program);
    const files = [ours, core].flatMap((folder) => [`${join(folder, "src")}/*`, join(folder, "package.json")]);
    return [...files, ...packagePlaces(program, "@postern/core")];
  }
  return [program, ...upwards(program).map((folder) => join(folder, "package.json"))]; // Node reads the module type from them
}

/** The paths of a package before links are followed: the permission model checks them first. */
export function packagePlaces(program: string, name: string): readonly string[] {
  return upwards(program).flatMap((folder) => {
    const packages = join(folder, "node_modules");
    const isLink = lstatSync(packages, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return [...(isLink ? [packages] : []), `${join(packages, name)}*`];
  });
}

function upwards(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...upwards(folder)];
}

let empty: string | undefined;

/** An empty folder, in which every child process starts. It is created again after temporary folders were deleted. */
export function emptyFolder(): string {
  if (empty !== undefined && existsSync(empty)) return empty;
  empty = temporaryFolder("empty");
  chmodSync(empty, 0o555);
  return empty;
}
