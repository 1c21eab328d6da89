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
import { codeOf } from "../../core/system/error-code.ts";
import { type Disk, writeAll } from "./disk.ts";
import { checkPlain, type Folder, noFollow } from "./guard/folder.ts";
import { FileRejection } from "./guard/rejection.ts";

/** The folder a file is in, held, and its name there. */
export interface Spot {
  readonly folder: Folder;
  readonly name: string;
}

/** What stood there when it was looked at; undefined: nothing. */
export type Before = Pick<Stats, "ino" | "size" | "mtimeMs" | "ctimeMs"> | undefined;

export interface Content {
  readonly bytes: Uint8Array;
  /** What it was made from: when something else stands there by now, nothing is written. Left out: it replaces whatever stands there. */
  readonly from?: { readonly before: Before };
}

/** What a write in flight is called; hidden in listings. */
export const draftName: RegExp = /^\.postern-[0-9a-f-]{36}\.draft$/;

/** The folder of a path beneath `top`, made where it is missing. The caller disposes of it. */
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
    if (codeOf(error) !== "EEXIST") throw error; // somebody else made it meanwhile: it is entered like any other
  }
  await syncFolder(folder, disk);
  return folder.descend([part]);
}

/** What stands at a name, not followed. Undefined: nothing. */
export function lookAt({ folder, name }: Spot): Stats | undefined {
  return lstatSync(folder.at(name), { throwIfNoEntry: false });
}

/** The plain file that would be replaced; undefined when there is none. */
export function plainAt(spot: Spot): Stats | undefined {
  const stats = lookAt(spot);
  if (stats !== undefined) checkPlain(stats, spot.folder.rules);
  return stats;
}

/**
 * Writes a file whole or not at all: a draft in the same held folder, synced, then given its name, and the folder synced.
 * A name that is a link is never written through: it is refused, and a rename would only replace the link itself.
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
    // The draft stays, under a name no listing shows; why the write failed is what the caller must hear.
  }
}

/** Whether what was looked at is what stands there now. */
export function isStill(before: Before, now: Before): boolean {
  if (before === undefined || now === undefined) return before === now;
  return (
    before.ino === now.ino &&
    before.size === now.size &&
    before.mtimeMs === now.mtimeMs &&
    before.ctimeMs === now.ctimeMs
  );
}

/** Adds to the end of a plain file; when that fails half-way, the file is cut back to what it was. */
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

/** Opened without creating and without blocking, then judged by its own descriptor. */
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

/** A name that was given, taken or changed is on the disk after this. */
export async function syncFolder(folder: Folder, disk: Disk): Promise<void> {
  if (process.platform === "win32") return; // folders cannot be opened there
  const descriptor = openSync(`${folder.self}/.`, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await disk.sync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
