import { randomUUID } from "node:crypto";
import { constants, open, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { makeOwnFolder } from "../system/own-folder.ts";
import { syncFolder } from "../system/sync-folder.ts";

/**
 * Writes a file that is there whole or not at all, and on the disk when this resolves: written beside the target's
 * tree under a name of its own, synced, renamed, and the folder that now names it synced too.
 *
 * @param temporary a folder of the same file system; what is left in it after a crash is rubbish
 */
export async function writeWhole(path: string, bytes: Uint8Array | string, temporary: string): Promise<void> {
  const draft = join(temporary, randomUUID());
  try {
    const file = await open(
      draft,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      await file.writeFile(bytes);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes a folder, its parents included, that survives a power cut: each folder that names a new one is synced. */
export async function makeFolder(path: string): Promise<void> {
  const first = makeOwnFolder(path);
  if (first === undefined) return;
  for (let made = resolve(path); ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}
