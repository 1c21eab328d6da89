import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { type FaultCode, RuntimeFault } from "@postern/core";
import { codeOf } from "@postern/core/system";

/** 0 on Windows, which has no such flag. */
export const noLink: number = constants.O_NOFOLLOW ?? 0;

/**
 * Opens a plain file: never through a link, never a pipe or a device, and without a second name through which another
 * user could write it.
 *
 * @param code of the RuntimeFault when the path is something else
 */
export async function openPlainFile(path: string, flags: number, code: FaultCode): Promise<FileHandle> {
  let file: FileHandle;
  try {
    file = await open(path, flags | noLink | constants.O_NONBLOCK, 0o600);
  } catch (error) {
    if (codeOf(error) === "ELOOP") throw unusable(path, "is a link", { code, cause: error });
    throw error;
  }
  const found = await file.stat();
  if (found.isFile() && found.nlink <= 1) return file;
  await file.close();
  throw unusable(path, found.isFile() ? "has more than one name" : "is not a file", { code });
}

/** Opens a file to read it. Returns undefined when it does not exist. The system or the caller refuses anything that is no file. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | noLink | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function unusable(
  path: string,
  why: string,
  { code, cause }: { readonly code: FaultCode; readonly cause?: unknown },
): RuntimeFault {
  return new RuntimeFault(code, `\`${path}\` ${why}; move it away.`, { cause });
}
