import { randomUUID } from "node:crypto";
import { constants, link, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf, makeOwnFolder, namingFullDisk } from "@postern/core/system";
import { noLink } from "./plain-file.ts";
import { syncFolder } from "./sync-folder.ts";

/**
 * Writes a file for its owner alone, whole or not at all, on the disk when this resolves: under a temporary name,
 * synced, renamed, and the folder synced too. The earlier file stays until then.
 *
 * @param temporary a folder of the same file system; after a crash its files can be deleted
 * @throws RuntimeFault `disk_full`, and what the system throws
 */
export async function writeWhole(
  path: string,
  bytes: Uint8Array | string,
  temporary: string = dirname(path),
): Promise<void> {
  const draft = join(temporary, `${basename(path)}.${randomUUID()}`);
  await writeAndPlace(draft, bytes, { place: () => rename(draft, path) });
  await syncFolder(dirname(path));
}

/**
 * The same for what is written often and can be made again: nothing is synced, so a power cut may bring back the earlier
 * file. Only one process writes it; what a crash left of the temporary file is replaced.
 */
export async function writeWholeUnsynced(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  await writeAndPlace(draft, text, { place: () => rename(draft, path), isSynced: false });
}

/** Returns undefined if there is no such file. Never follows a link. */
export async function readWhole(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, { encoding: "utf8", flag: constants.O_RDONLY | noLink });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Writes a file piece by piece under a temporary name, on the disk when this resolves. The caller moves it into place
 * or removes it. When the stream throws, the file is removed.
 *
 * @param each gets every piece before it is written
 */
export async function writeDraft(
  chunks: AsyncIterable<Uint8Array>,
  temporary: string,
  each: (chunk: Uint8Array) => void,
): Promise<string> {
  const draft = join(temporary, randomUUID());
  const pieces = (async function* () {
    for await (const chunk of chunks) {
      each(chunk);
      yield chunk;
    }
  })();
  await writeAndPlace(draft, pieces);
  return draft;
}

/** Renames a draft into place. The name is on the disk when this resolves. */
export async function placeDraft(draft: string, path: string): Promise<void> {
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/** The same, but never replaces a file. Returns false when the file exists. */
export async function createWhole(path: string, bytes: Uint8Array): Promise<boolean> {
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeAndPlace(draft, bytes, { place: () => link(draft, path) });
    await rm(draft);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  await syncFolder(dirname(path));
  return true;
}

async function writeAndPlace(
  draft: string,
  bytes: Uint8Array | string | AsyncIterable<Uint8Array>,
  { place, isSynced = true }: { readonly place?: () => Promise<void>; readonly isSynced?: boolean } = {},
): Promise<void> {
  try {
    const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noLink, 0o600);
    try {
      await file.writeFile(bytes);
      if (isSynced) await file.datasync();
    } finally {
      await file.close();
    }
    await place?.();
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {}); // the first error says more
    throw namingFullDisk(error, dirname(draft));
  }
}

/** Makes a folder and its parents so that they survive a power cut: each folder that names a new one is synced. */
export async function makeFolder(path: string): Promise<void> {
  const first = makeOwnFolder(path);
  if (first === undefined) return;
  for (let made = resolve(path); ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}
