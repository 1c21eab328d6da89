import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf } from "./error-code.ts";
import { namingFullDisk } from "./full-disk.ts";

/**
 * Makes a folder and its missing parents, for its owner alone. `mkdir` with `recursive` never returns where the kernel
 * refuses folders (`/proc`, an empty `/sys/fs/cgroup`).
 *
 * @returns the topmost folder that was made, or undefined when all existed
 * @throws what `mkdir` throws, `EEXIST` for a file in its place; RuntimeFault `disk_full`
 */
export function makeOwnFolder(path: string): string | undefined {
  const missing: string[] = [];
  for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.push(at);
  return missing.reverse().filter(makeOne)[0];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Returns false when another process made it meanwhile. */
function makeOne(path: string): boolean {
  try {
    mkdirSync(path, 0o700);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST" && isFolder(path)) return false;
    throw namingFullDisk(error, path);
  }
}
