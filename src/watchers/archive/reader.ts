import { constants, open } from "node:fs/promises";
import { noLink } from "./folders.ts";

/** The lines that are ours and wanted, in order, `limit` at most. A file that is not there has none. */
export async function linesAfter<T>(
  path: string,
  limit: number,
  read: (line: string) => T | undefined,
  isWanted: (value: T) => boolean = () => true,
): Promise<readonly T[]> {
  const found: T[] = [];
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | noLink).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return found;
  for await (const line of file.readLines()) {
    const value = read(line);
    if (value === undefined || !isWanted(value)) continue;
    found.push(value);
    if (found.length >= limit) break;
  }
  return found;
}
