import type { ApprovalState, CallState } from "./records.ts";

/** The store keeps a state by its position here, so a new state goes to the end. */
export const callStates: readonly CallState[] = [
  "held",
  "queued",
  "attempted",
  "suspended",
  "ok",
  "failed",
  "denied",
  "unknown",
];

export const approvalStates: readonly ApprovalState[] = [
  "pending",
  "approved",
  "denied",
  "skipped",
  "expired",
  "withdrawn",
  "used",
];
