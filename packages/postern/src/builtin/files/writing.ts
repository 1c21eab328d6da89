import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  unlinkSync,
} from "node:fs";
import { codeOf } from "@postern/core/system";
import { type Disk, writeAll } from "./disk.ts";
import { checkPlain, type Folder, noFollow } from "./guard/folder.ts";
import { FileRejection } from "./guard/rejection.ts";

/** The open folder of a file, and the file's name in it. */
export interface Spot {
  readonly folder: Folder;
  readonly name: string;
}

/** The file when it was read. Undefined if there was none. */
export type Before = Pick<Stats, "ino" | "size" | "mtimeMs" | "ctimeMs"> | undefined;

export interface Content {
  readonly bytes: Uint8Array;
  /** The file that the content was made from. If it has changed, nothing is written. Without it, any file is replaced. */
  readonly from?: { readonly before: Before };
}

/** The name of a file that is being written. Listings hide it. */
export const draftName: RegExp = /^\.postern-[0-9a-f-]{36}\.draft$/;

/** Opens a folder beneath `top` and makes missing folders. The caller disposes of it. */
export async function folderFor(top: Folder, parts: readonly string[], disk: Disk): Promise<Folder> {
  let folder = top.descend([]);
  try {
    for (const part of parts) {
      const next = await entered(folder, part, disk);
      folder[Symbol.dispose]();
      folder = next;
    }
    return folder;
  } catch (error) {
    folder[Symbol.dispose]();
    throw error;
  }
}

async function entered(folder: Folder, part: string, disk: Disk): Promise<Folder> {
  try {
    return folder.descend([part]);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  try {
    mkdirSync(folder.at(part));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error; // another process made it meanwhile
  }
  await syncFolder(folder, disk);
  return folder.descend([part]);
}

/** What has the name. A link is not followed. Returns undefined if nothing has it. */
export function lookAt({ folder, name }: Spot): Stats | undefined {
  return lstatSync(folder.at(name), { throwIfNoEntry: false });
}

/** The plain file that would be replaced. Returns undefined if there is none. */
export function plainAt(spot: Spot): Stats | undefined {
  const stats = lookAt(spot);
  if (stats !== undefined) checkPlain(stats, spot.folder.rules);
  return stats;
}

/**
 * Writes a file completely or not at all: a draft in the same folder is synced and renamed, then the folder is synced.
 * A name that is a link is refused, and a rename would only replace the link itself.
 */
export async function writeWhole(spot: Spot, { bytes, from }: Content, disk: Disk): Promise<void> {
  const { folder, name } = spot;
  const draft = folder.at(`.postern-${randomUUID()}.draft`);
  const descriptor = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow, 0o666);
  try {
    try {
      const old = plainAt(spot);
      if (old !== undefined) fchmodSync(descriptor, old.mode & 0o777);
      await writeAll(disk, descriptor, bytes);
      await disk.syncData(descriptor);
    } finally {
      closeSync(descriptor);
    }
    const now = plainAt(spot);
    if (from !== undefined && !isStill(from.before, now)) throw new FileRejection("changed");
    await disk.rename(draft, folder.at(name));
  } catch (error) {
    discard(draft);
    throw error;
  }
  await syncFolder(folder, disk);
}

function discard(draft: string): void {
  try {
    unlinkSync(draft);
  } catch {
    // The draft stays hidden. The caller gets the error of the write.
  }
}

/** Whether the file has not changed since it was read. */
export function isStill(before: Before, now: Before): boolean {
  if (before === undefined || now === undefined) return before === now;
  return (
    before.ino === now.ino &&
    before.size === now.size &&
    before.mtimeMs === now.mtimeMs &&
    before.ctimeMs === now.ctimeMs
  );
}

/** Adds to the end of a plain file. If that fails, the file is cut back to its old size. */
export async function appendTo(spot: Spot, bytes: Uint8Array, disk: Disk): Promise<number> {
  const descriptor = openForAppending(spot);
  try {
    const { size } = fstatSync(descriptor);
    try {
      await writeAll(disk, descriptor, bytes);
      await disk.syncData(descriptor);
    } catch (error) {
      await disk.truncate(descriptor, size);
      throw error;
    }
    return size + bytes.length;
  } finally {
    closeSync(descriptor);
  }
}

/** Opens without creating and without blocking, then checks the descriptor. */
function openForAppending(spot: Spot): number {
  plainAt(spot);
  const flags = constants.O_WRONLY | constants.O_APPEND | noFollow | (constants.O_NONBLOCK ?? 0);
  const descriptor = openSync(spot.folder.at(spot.name), flags);
  try {
    checkPlain(fstatSync(descriptor), spot.folder.rules);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** After this, changes of names in the folder are on the disk. */
export async function syncFolder(folder: Folder, disk: Disk): Promise<void> {
  if (process.platform === "win32") return; // Windows cannot open folders
  const descriptor = openSync(`${folder.self}/.`, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await disk.sync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
