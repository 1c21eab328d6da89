import type { ApprovalState, CallState } from "./records.ts";

/** In this order the store keeps them by their place: a new one is the last. */
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
