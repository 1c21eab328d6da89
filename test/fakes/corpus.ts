import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Where published collections lie, which are not ours to publish again. */
export const corpora: string = process.env["POSTERN_CORPORA"] ?? join(import.meta.dirname, "../../../shared/corpora");

/** Rows of a published collection; none where it is not at hand, and then it says so. */
export function corpus<Row>(file: string): readonly Row[] {
  const path = join(corpora, file);
  if (!existsSync(path)) {
    console.warn(`SKIPPED: no ${file} at ${corpora}; set POSTERN_CORPORA.`);
    return [];
  }
  return JSON.parse(readFileSync(path, "utf8")) as readonly Row[]; // an array, one row a line
}
