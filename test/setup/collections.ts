/** Said once, at the end, where everybody looks: a run without the published collections is not the whole of it. */
import { existsSync } from "node:fs";
import { corpora } from "../fakes/corpus.ts";

export function setup(): (() => void) | undefined {
  if (existsSync(corpora)) return undefined;
  return () =>
    console.warn(
      `SKIPPED: what tries published collections (attacks, proofs, hostile texts). They are not at ${corpora}; set POSTERN_CORPORA to where they are.`,
    );
}
