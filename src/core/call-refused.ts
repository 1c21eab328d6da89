import type { ToolOutcome } from "./outcome.ts";

/** The exception of the throwing API. Its `code` is the refusal's, or the outcome's status (`pending`, `preview`). */
export class CallRefused extends Error {
  override readonly name = "CallRefused";
  readonly outcome: ToolOutcome;
  readonly code: string;

  /** @param message by default the outcome's text */
  constructor(outcome: ToolOutcome, message: string = outcome.text) {
    super(message);
    this.outcome = outcome;
    this.code = outcome.refusal?.code ?? outcome.status;
  }
}
