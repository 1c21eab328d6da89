import { randomUUID } from "node:crypto";
import { constants, type FileHandle, link, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../system/error-code.ts";
import { makeOwnFolder } from "../system/own-folder.ts";
import { syncFolder } from "../system/sync-folder.ts";

/** Undefined: there is none. A link, a folder or a device is refused by the system or by the caller, who gets the handle. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Whole or not at all, for its owner alone, and on the disk when this resolves. What was there stays until then. */
export async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  await withDraft(path, bytes, (draft) => rename(draft, path));
}

/** The same, but never over a file that is there. False: there was one. */
export async function createFile(path: string, bytes: Uint8Array): Promise<boolean> {
  try {
    await withDraft(path, bytes, (draft) => link(draft, path));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

async function withDraft(path: string, bytes: Uint8Array, place: (draft: string) => Promise<void>): Promise<void> {
  makeOwnFolder(dirname(path));
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await place(draft);
  } finally {
    await rm(draft, { force: true });
  }
  await syncFolder(dirname(path));
}
