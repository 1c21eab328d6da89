import type { ToolOutcome } from "./outcome.ts";

/**
 * The throwing face's one exception (D29): its `code` is the refusal's, or the outcome's status (`pending`, `preview`).
 * [004]'s ScopeViolation is `scope_missing`, its ApprovalRequired `pending`, its PreviewRequired `preview`.
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
