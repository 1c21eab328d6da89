import type { JsonObject } from "../calls/json.ts";
import type { ApprovalRecord } from "../calls/records.ts";
import type { Refusal } from "../calls/refusals.ts";
import type { Grant, Remember } from "./grant.ts";

/** A role as the operator's accounts call it; routes compare it as text. */
export type DeciderRole = string;

/** Who decides: authenticated by the door, never read from a body. */
export interface Decider {
  readonly user: string;
  /** The credential's name: it never decides a call it asked for itself. */
  readonly via?: string;
  readonly tenant?: string;
  readonly roles?: readonly DeciderRole[];
  readonly groups?: readonly string[];
  /** Whether a person signed in, and did not only show a token. Left out: the caller's word, unless `via` is a token. */
  readonly signedIn?: boolean;
}

export interface DecisionRequest {
  readonly decision: "approved" | "denied" | "skipped" | "modified";
  /** With `modified`, and only then. */
  readonly arguments?: JsonObject;
  readonly by: Decider;
  readonly reason?: string;
  /** The tool's name as the decider typed it, where the route asks for that. */
  readonly confirmation?: string;
  /** Digest or binding of what was shown: when that has changed since, nothing is decided. */
  readonly expectedDigest?: string;
  /** With a yes: such calls need nobody for a while. */
  readonly remember?: Remember;
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
  approval_changed: 409,
  approval_voted: 409,
  approval_expired: 410,
  decider_not_allowed: 403,
  sign_in_needed: 403,
  confirmation_needed: 422,
  decision_invalid: 422,
  edit_refused: 422,
  remember_refused: 422,
  batch_refused: 422,
} as const;

export type DecisionProblem = keyof typeof decisionProblems;

export type Decided =
  | {
      readonly decided: true;
      /** Still `pending` when more persons must say yes. */
      readonly approval: ApprovalRecord;
      /** What was remembered. */
      readonly grant?: Grant;
    }
  | {
      readonly decided: false;
      readonly code: DecisionProblem;
      readonly message: string;
      readonly approval?: ApprovalRecord;
      readonly refusal?: Refusal;
    };

/** One decision on many alike requests of one run; each is recorded by itself. What a name must be typed for is no part of a yes to many. */
export interface BatchRequest extends Pick<DecisionRequest, "by" | "reason"> {
  readonly decision: "approved" | "denied" | "skipped";
  /** Digests of what was shown, by approval. */
  readonly expectedDigests?: Readonly<Record<string, string>>;
}

export type BatchDecided =
  | { readonly taken: true; readonly answers: readonly { readonly id: string; readonly decided: Decided }[] }
  | { readonly taken: false; readonly code: "approval_unknown" | "batch_refused"; readonly message: string };
