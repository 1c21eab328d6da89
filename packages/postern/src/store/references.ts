/** Which artifacts a row refers to, and whether it still needs them. This is always computed from the row and never stored separately. */
import type { ApprovalRecord, CallRecord, ToolCall } from "@postern/core";

/** The form in arguments, outcomes and their media blocks. A quote inside a text is escaped, so a text cannot look like a reference. */
const reference = /"\$?artifact":"([0-9a-f]{64})"/g;

/**
 * The digests of the artifacts that a stored row refers to.
 *
 * @param json without white space: canonical, or from `JSON.stringify`
 */
export function artifactDigestsIn(json: string): readonly string[] {
  if (!json.includes('artifact":"')) return none;
  return Array.from(json.matchAll(reference), ([, digest = ""]) => digest);
}
const none: readonly string[] = [];

/**
 * Whether a row still needs the artifacts of its arguments and its outcome: the call may still run, or may still answer a
 * re-send. Both need its arguments, and an answer needs its outcome. A plain call that has ended can only be found by an
 * operator.
 */
export function callNeedsArtifacts(
  record: Omit<CallRecord, "call" | "outcome"> & { readonly call: Pick<ToolCall, "id"> },
  now: number,
): boolean {
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
      return !retryable; // its tool may be asked how it ended
    case "ok":
    case "failed":
      return !retryable && (key !== call.id || approvalId !== undefined);
    default:
      return state satisfies never;
  }
}

/** Whether a request still needs the artifacts in it: edited arguments are only there, and it can still run. */
export function requestNeedsArtifacts({ state, expiresAt }: ApprovalRecord, now: number): boolean {
  return (state === "pending" || state === "approved") && expiresAt > now;
}
