import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf } from "./error-code.ts";

/**
 * A folder and the parents it lacks, for its owner alone. Not `mkdir`'s own `recursive`: where the kernel has a folder
 * and lets nobody make one in it (`/proc`, an empty `/sys/fs/cgroup`), that one tries for ever.
 *
 * @returns the topmost folder that was made; none when all were there
 * @throws what `mkdir` throws; `EEXIST` for a file in its place
 */
export function makeOwnFolder(path: string): string | undefined {
  const missing: string[] = [];
  for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.push(at);
  return missing.reverse().filter(makeOne)[0];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** False: somebody else made it meanwhile. */
function makeOne(path: string): boolean {
  try {
    mkdirSync(path, 0o700);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST" && isFolder(path)) return false;
    throw error;
  }
}
