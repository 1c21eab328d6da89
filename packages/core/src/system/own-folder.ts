import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { sha256 } from "./digest.ts";
import { codeOf } from "./error-code.ts";
import { namingFullDisk } from "./full-disk.ts";

const plainWord = /^[A-Za-z0-9_-]{1,64}$/;

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

/** A name of any characters as the name of a folder: itself when it is a plain word. Two names never give one. */
export function plainName(name: string): string {
  return plainWord.test(name) ? name : digested(name);
}

/** No plain name has a dot, so the two forms cannot be equal. */
function digested(name: string): string {
  const readable = name.replaceAll(/[^A-Za-z0-9_-]+/g, "-").slice(0, 40);
  return `${readable}.${sha256(name.toWellFormed()).slice(0, 32)}`;
}
