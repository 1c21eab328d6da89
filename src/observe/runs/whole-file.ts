import { constants, open, readFile, rename, rm } from "node:fs/promises";
import { codeOf } from "../../core/system/error-code.ts";
import { namingFullDisk } from "../../core/system/full-disk.ts";
import { noLink } from "../../core/system/plain-file.ts";

/** The file has these bytes or stays unchanged, also if the process dies meanwhile. It is not synced: run folders are no ledger. */
export async function writeWholeFile(path: string, content: string): Promise<void> {
  const draft = `${path}.new`;
  try {
    await rm(draft, { force: true });
    await using file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noLink, 0o600);
    await file.writeFile(content);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {}); // the first error says more
    throw namingFullDisk(error, path);
  }
}

/** Returns undefined if there is no such file. */
export async function readWholeFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, { encoding: "utf8", flag: constants.O_RDONLY | noLink });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
