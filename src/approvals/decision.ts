import type { JsonObject } from "../calls/json.ts";
import type { ApprovalRecord } from "../calls/records.ts";
import type { Refusal } from "../calls/refusals.ts";

/** Who decides: authenticated by the door, never read from a body. */
export interface Decider {
  readonly user: string;
  /** The credential's name: it never decides a call it asked for itself. */
  readonly via?: string;
  readonly tenant?: string;
}

export interface DecisionRequest {
  readonly decision: "approved" | "denied" | "skipped" | "modified";
  /** With `modified`, and only then. */
  readonly arguments?: JsonObject;
  readonly by: Decider;
  readonly reason?: string;
}

export const decisions: readonly DecisionRequest["decision"][] = ["approved", "denied", "skipped", "modified"];

/** Whether it is one of the four, and brings arguments exactly when it must: what anybody sent is not believed to be. */
export function isWellFormed(
  said: { readonly decision?: unknown; readonly arguments?: unknown } | null | undefined,
): boolean {
  const { decision, arguments: edited } = said ?? {};
  return decisions.some((one) => one === decision) && (decision === "modified") === (edited !== undefined);
}

/** Problems of a decision, each with its HTTP number. */
export const decisionProblems = {
  approval_unknown: 404,
  approval_decided: 409,
  approval_expired: 410,
  decider_not_allowed: 403,
  decision_invalid: 422,
  edit_refused: 422,
} as const;

export type Decided =
  | { readonly decided: true; readonly approval: ApprovalRecord }
  | {
      readonly decided: false;
      readonly code: keyof typeof decisionProblems;
      readonly message: string;
      readonly approval?: ApprovalRecord;
      readonly refusal?: Refusal;
    };
