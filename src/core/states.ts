/**
 * `held` waits for a person, `suspended` has started and waits for one, `queued` waits for a worker; `attempted` without an
 * end becomes `unknown` at start-up. The store keeps a state by its position here, so a new state goes to the end.
 */
export const callStates = ["held", "queued", "attempted", "suspended", "ok", "failed", "denied", "unknown"] as const;
export type CallState = (typeof callStates)[number];

/** An approved request becomes `used` with its one call. */
export const approvalStates = ["pending", "approved", "denied", "skipped", "expired", "withdrawn", "used"] as const;
export type ApprovalState = (typeof approvalStates)[number];
