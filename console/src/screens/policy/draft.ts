/** A policy that is being written: it outlasts another tab of the screen and another screen, and is not closed away unasked. */
import type { PolicyTextView } from "../../../../src/server/contract/policy.ts";

export interface Draft {
  /** What it was begun on: if the file has changed since, it is not written over. */
  readonly document: PolicyTextView;
  readonly text: string;
}

let draft: Draft | undefined;

export function draftOf(): Draft | undefined {
  return draft;
}

/** Undefined: there is nothing that could be lost. */
export function keepDraft(next: Draft | undefined): void {
  draft = next;
  if (next === undefined) window.removeEventListener("beforeunload", ask);
  else window.addEventListener("beforeunload", ask);
}

function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
