import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of published collections, which we may not publish again. */
export const corpora: string = process.env["POSTERN_CORPORA"] ?? join(import.meta.dirname, "../../../shared/corpora");

/** Returns the rows of a published collection; if it is missing, returns none and reports that. */
export function corpus<Row>(file: string): readonly Row[] {
  const path = join(corpora, file);
  if (!existsSync(path)) {
    console.warn(`SKIPPED: no ${file} at ${corpora}; set POSTERN_CORPORA.`);
    return [];
  }
  return JSON.parse(readFileSync(path, "utf8")) as readonly Row[]; // an array, one row a line
}
