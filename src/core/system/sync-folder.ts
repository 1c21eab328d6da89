import { constants, open } from "node:fs/promises";

/** Names of files are kept in their folder: what was made or renamed in it survives a power cut from here on. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
