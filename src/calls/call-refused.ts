import type { ToolOutcome } from "./outcome.ts";

/**
 * The throwing face's one exception (D29): its `code` is the refusal's, or the outcome's status (`pending`, `preview`).
 * A scope that is not there is `scope_missing`, a person who is needed `pending`, what was only shown `preview`.
 */
export class CallRefused extends Error {
  override readonly name = "CallRefused";
  readonly outcome: ToolOutcome;
  readonly code: string;

  constructor(outcome: ToolOutcome) {
    super(outcome.text);
    this.outcome = outcome;
    this.code = outcome.refusal?.code ?? outcome.status;
  }
}
