/** A policy that is being edited. It is kept while other screens are shown, and the browser asks before it is lost. */
import type { PolicyTextView } from "@postern/core/contract";

interface Draft {
  /** The file when the edit began: when it has changed since, the server refuses to write over it. */
  readonly document: PolicyTextView;
  readonly text: string;
}

let draft: Draft | undefined;

export function draftOf(): Draft | undefined {
  return draft;
}

export function keepDraft(next: Draft | undefined): void {
  draft = next;
  if (next === undefined) window.removeEventListener("beforeunload", ask);
  else window.addEventListener("beforeunload", ask);
}

function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
