/** Reports once, at the end, which published collections a run lacked. */
import { missingCollections } from "../fakes/corpus.ts";

export function setup(): (() => void) | undefined {
  const lacks = missingCollections();
  return lacks === undefined ? undefined : () => console.warn(lacks);
}
