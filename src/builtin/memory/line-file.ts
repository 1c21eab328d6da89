import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { createInterface } from "node:readline";
import { codeOf } from "../../core/system/error-code.ts";
import { Locks } from "../../core/system/locks.ts";
import { openPlainFile } from "../../core/system/plain-file.ts";

const unusable = "config_invalid";

/** Writes to one file of this process run one after another. */
const writing = new Locks();

/**
 * Adds a line. It is on the disk when this resolves, or not there at all. A line that a crash cut off is removed first. Only
 * one process writes a file.
 *
 * @throws RuntimeFault `config_invalid` if it is no plain file with one name; errors of the disk
 */
export function appendLine(path: string, line: string): Promise<void> {
  return writing.with([path], async () => {
    const file = await openPlainFile(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, unusable);
    try {
      const size = await completeLength(file);
      await file.truncate(size);
      try {
        await file.appendFile(`${line}\n`);
        await file.datasync();
      } catch (error) {
        await file.truncate(size).catch(() => undefined); // the next append cuts it off
        throw error;
      }
    } finally {
      await file.close();
    }
  });
}

/** Every complete line, in order. A missing file has none. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let file: FileHandle;
  try {
    file = await openPlainFile(path, constants.O_RDONLY, unusable);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  try {
    const length = await completeLength(file);
    if (length > 0) yield* createInterface({ input: file.createReadStream({ end: length - 1, autoClose: false }) });
  } finally {
    await file.close();
  }
}

/** The size of its complete lines. Text after the last line break is an incomplete write. */
async function completeLength(file: FileHandle): Promise<number> {
  const { size } = await file.stat();
  const piece = Buffer.alloc(64 * 1024);
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - piece.length);
    const { bytesRead } = await file.read(piece, 0, end - from, from);
    const at = piece.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (at >= 0) return from + at + 1;
    end = from;
  }
  return 0;
}
