/** Reports once, at the end, that a run without the published collections is incomplete. */
import { existsSync } from "node:fs";
import { corpora } from "../fakes/corpus.ts";

export function setup(): (() => void) | undefined {
  if (existsSync(corpora)) return undefined;
  return () =>
    console.warn(
      `SKIPPED: what tries published collections (attacks, proofs, hostile texts). They are not at ${corpora}; set POSTERN_CORPORA to where they are.`,
    );
}
