/**
 * Which artifacts a row refers to, and whether it still needs them. What a row needs is never kept a second time:
 * it follows from the row.
 */
import type { ApprovalRecord, CallRecord } from "../core/records.ts";

/** As arguments, outcomes and their media blocks spell it; a quote inside a text is escaped, so a text never looks like one. */
const reference = /"\$?artifact":"([0-9a-f]{64})"/g;

/** @param json canonical or `JSON.stringify`'s: without white space */
export function digestsIn(json: string): readonly string[] {
  if (!json.includes('artifact":"')) return none;
  return Array.from(json.matchAll(reference), ([, digest = ""]) => digest);
}
const none: readonly string[] = [];

/**
 * Whether the call may yet run, or may yet answer whoever sends it again: both begin with its arguments, and an answer
 * ends with its outcome. A plain call that has ended can be found by nobody but an operator.
 */
export function needsArtifacts(record: CallRecord, now: number): boolean {
  const { state, retryable, key, call, approvalId, aliveUntil } = record;
  switch (state) {
    case "held":
    case "denied":
      return aliveUntil === undefined || aliveUntil > now;
    case "queued":
    case "attempted":
    case "suspended":
      return true;
    case "unknown":
      return !retryable; // a tool may be asked what became of it
    case "ok":
    case "failed":
      return !retryable && (key !== call.id || approvalId !== undefined);
    default:
      return state satisfies never;
  }
}

/** Edited arguments are only in the approval, so their artifacts are needed while it can run. */
export function mayRunWith({ state, expiresAt }: ApprovalRecord, now: number): boolean {
  return (state === "pending" || state === "approved") && expiresAt > now;
}
