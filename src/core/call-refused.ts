import type { ToolOutcome } from "./outcome.ts";

/**
 * The throwing face's one exception: its `code` is the refusal's, or the outcome's status (`pending`, `preview`).
 * A scope that is not there is `scope_missing`, a person who is needed `pending`, what was only shown `preview`.
 */
export class CallRefused extends Error {
  override readonly name = "CallRefused";
  readonly outcome: ToolOutcome;
  readonly code: string;

  /** @param message what its reader is told; by default the outcome's text */
  constructor(outcome: ToolOutcome, message: string = outcome.text) {
    super(message);
    this.outcome = outcome;
    this.code = outcome.refusal?.code ?? outcome.status;
  }
}
