import type { ApprovalEndName, EndName, RefusalCode } from "@postern/core";

/** At which gate a call is refused with this code. */
const refusalStages: Readonly<Record<RefusalCode, string>> = {
  budget_exhausted: "budget",
  session_closed: "budget",
  draining: "budget",
  run_foreign: "budget",
  paused: "budget",
  overloaded: "budget",
  tool_unknown: "lookup",
  tool_unavailable: "lookup",
  tool_not_callable: "lookup",
  arguments_invalid: "arguments",
  artifact_unavailable: "arguments",
  secret_in_arguments: "arguments",
  permission_denied: "verdict",
  scope_missing: "verdict",
  blocked: "verdict",
  antiflap_blocked: "verdict",
  storm_blocked: "verdict",
  preview_only: "verdict",
  key_required: "once",
  idempotency_conflict: "once",
  in_progress: "once",
  outcome_unknown: "once",
  approval_unavailable: "approval",
  approval_timed_out: "approval",
  approval_denied: "approval",
  approval_skipped: "approval",
  approval_expired: "approval",
  approval_withdrawn: "approval",
  cancelled: "claim",
  audit_unavailable: "claim",
  store_lost: "claim",
  timed_out: "execute",
  tool_failed: "execute",
  result_unavailable: "settle",
  result_withheld: "settle",
  internal: "execute",
};

/** `gate.*` events have the stage `gate`. The stage of `refused` comes from its code. */
const endStages: Readonly<Record<EndName, string>> = {
  succeeded: "settle",
  failed: "settle",
  unknown: "settle",
  deduped: "once",
  refused: "execute",
  blocked: "gate",
  antiflap_blocked: "gate",
  storm_blocked: "gate",
  previewed: "gate",
  cancelled: "claim",
  suspended: "execute",
  settled: "operator",
};

/** A call that a person permits is a success, everything else is information. */
export const decisionOutcomes: Readonly<Record<ApprovalEndName, "success" | "info">> = {
  approved: "success",
  modified: "success",
  denied: "info",
  skipped: "info",
  expired: "info",
  withdrawn: "info",
  revoked: "info",
};

/** Ends of calls that were attempted: `tool_call.attempted` has their verdict, reasons and request. */
export const attemptedEnds: ReadonlySet<EndName> = new Set(["succeeded", "failed", "unknown", "suspended", "settled"]);

const endSummaries: Readonly<Record<EndName, string>> = {
  succeeded: "succeeded",
  failed: "failed",
  unknown: "may have happened",
  deduped: "answered from its record",
  refused: "refused",
  blocked: "blocked",
  antiflap_blocked: "suppressed",
  storm_blocked: "suppressed",
  previewed: "previewed, not run",
  cancelled: "cancelled",
  suspended: "waits for a person",
  settled: "settled",
};

export function attemptedSummary(name: string): string {
  return `${name} started`;
}

export function stageOf(as: EndName, code?: RefusalCode): string {
  return as === "refused" && code !== undefined ? refusalStages[code] : endStages[as];
}

/** No approver has decided: the arrival ended, but its request is still open. */
export function openSummary(name: string, as: EndName): string {
  return as === "deduped"
    ? `${name} waits for a person: it was asked for already`
    : `${name} waits for a person still: this caller waited as long as it would`;
}

export function endSummary(name: string, as: EndName, code?: RefusalCode): string {
  return code === undefined ? `${name} ${endSummaries[as]}` : `${name} ${endSummaries[as]}: ${code}`;
}
