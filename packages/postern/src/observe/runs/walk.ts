import { constants, type Dirent, existsSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "@postern/core";
import { noLink } from "../../system/plain-file.ts";

/** A plain file, open; or what is left out, and why. */
export type FoundFolder =
  | { readonly path: string; readonly file: FileHandle }
  | { readonly path: string; readonly left: string };

const deepest = 64;
const mostFiles = 100_000;
/** If each step is relative to a folder that is held open, no link can be swapped in. */
const held = existsSync("/proc/self/fd");

/**
 * Every plain file beneath a folder, in order of its names; tools have written there, so links, hard links and special files are
 * left out. Each file is open only while it is the current one.
 */
export async function* walkFiles(folder: string, path = "", depth = 0): AsyncGenerator<FoundFolder> {
  await using directory = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | noLink);
  const base = held ? `/proc/self/fd/${directory.fd}` : folder;
  const entries = (await readdir(base, { withFileTypes: true })).sort(byName);
  for (const entry of entries.slice(0, mostFiles)) {
    const name = path === "" ? entry.name : `${path}/${entry.name}`;
    if (!entry.isDirectory()) yield* oneFile(join(base, entry.name), name);
    else if (depth >= deepest) yield { path: name, left: "it lies too deep" };
    else yield* below(join(base, entry.name), name, depth);
  }
  if (entries.length > mostFiles) yield { path, left: `it holds more than ${mostFiles} files` };
}

async function* below(folder: string, path: string, depth: number): AsyncGenerator<FoundFolder> {
  try {
    yield* walkFiles(folder, path, depth + 1);
  } catch (error) {
    yield { path, left: messageOf(error) };
  }
}

async function* oneFile(at: string, path: string): AsyncGenerator<FoundFolder> {
  await using file = await open(at, constants.O_RDONLY | constants.O_NONBLOCK | noLink).catch(() => undefined); // a link, a socket, gone
  if (file === undefined) return yield { path, left: "it is a link or cannot be read" };
  const found = await file.stat();
  if (!found.isFile()) yield { path, left: "it is no plain file" };
  else if (found.nlink > 1) yield { path, left: "it has more than one name" };
  else yield { path, file };
}

/** By code units: the same order everywhere. */
function byName(one: Dirent, other: Dirent): number {
  return one.name < other.name ? -1 : 1;
}
