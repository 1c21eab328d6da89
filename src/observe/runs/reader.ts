import { openIfThere } from "../../core/system/plain-file.ts";

/** While the last lines are looked for, so many more are in memory. */
const mostSpare = 1_000;

/**
 * The first or the last lines, in order, `limit` at most. A missing file has none.
 *
 * @param read returns undefined for a line that is not ours, or not wanted
 */
export async function linesIn<T>(
  path: string,
  read: (line: string) => T | undefined,
  { limit, which = "first" }: { readonly limit: number; readonly which?: "first" | "last" },
): Promise<readonly T[]> {
  let found: T[] = [];
  await using file = await openIfThere(path);
  if (file === undefined) return found;
  for await (const line of file.readLines()) {
    const value = read(line);
    if (value === undefined) continue;
    found.push(value);
    if (which === "first" && found.length >= limit) break;
    if (found.length >= limit + mostSpare) found = found.slice(found.length - limit);
  }
  return which === "first" ? found.slice(0, limit) : found.slice(Math.max(0, found.length - limit));
}
