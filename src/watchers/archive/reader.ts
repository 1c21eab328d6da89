import { openIfThere } from "../../system/plain-file.ts";

/**
 * The lines that are wanted, in order, `limit` at most. A file that is not there has none.
 *
 * @param read undefined for what is not ours, or not wanted
 */
export async function linesAfter<T>(
  path: string,
  limit: number,
  read: (line: string) => T | undefined,
): Promise<readonly T[]> {
  const found: T[] = [];
  const file = await openIfThere(path);
  if (file === undefined) return found;
  for await (const line of file.readLines()) {
    const value = read(line);
    if (value === undefined) continue;
    found.push(value);
    if (found.length >= limit) break;
  }
  return found;
}

const stretchBytes = 256 * 1024;
const lineBreak = 0x0a;

/** The last lines that are ours, in order, `limit` at most: read from the end, however long the file has become. */
export async function lastLines<T>(
  path: string,
  limit: number,
  read: (line: string) => T | undefined,
): Promise<readonly T[]> {
  const file = await openIfThere(path);
  if (file === undefined) return [];
  try {
    const found: T[] = [];
    let rest: Buffer = Buffer.alloc(0);
    for (let end = (await file.stat()).size; end > 0 && found.length < limit; ) {
      const start = Math.max(0, end - stretchBytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
      const bytes = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
      const cut = start === 0 ? 0 : bytes.indexOf(lineBreak) + 1; // what stands before it is part of a line that began earlier
      rest = start === 0 || cut > 0 ? bytes.subarray(0, cut) : bytes;
      const lines = start > 0 && cut === 0 ? [] : bytes.toString("utf8", cut).split("\n").reverse();
      for (const line of lines) {
        const value = line === "" ? undefined : read(line);
        if (value !== undefined && found.length < limit) found.push(value);
      }
      end = start;
    }
    return found.reverse();
  } finally {
    await file.close();
  }
}
