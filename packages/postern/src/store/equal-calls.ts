/**
 * Which row answers a call that equals it: same principal, tool and arguments. The table of docs/reference/calls.md.
 *
 * A column of the table is found from what the caller states: a call of a model (its id and turn), or neither. Inside a
 * run that the caller states, only rows of that run answer. An effect whose outcome is unknown answers in every run.
 */
import { type ApprovalRecord, type CallRecord, isNamedBy, type ModelCall, modelCallsOf } from "@postern/core";

/** A call without an idempotency key, as the rows are searched for it. */
export interface EqualCall {
  readonly match: string;
  /** The run that the caller states. Undefined: rows of every run answer. */
  readonly runId?: string | undefined;
  /** Undefined: the caller has no turns. */
  readonly modelCall?: ModelCall | undefined;
  /** Keys of calls of the same batch, which are other calls. */
  readonly except?: ReadonlySet<string> | undefined;
}

/** What `answeringRow` looks at beside the rows. */
export interface AnsweringAt {
  /** Wall clock, milliseconds. */
  readonly now: number;
  readonly approval: (id: string) => ApprovalRecord | undefined;
}

/** Of rows with the call's `match`, the one that answers it: the row of the same call of the model, else the earliest. */
export function answeringRow(call: EqualCall, rows: readonly CallRecord[], at: AnsweringAt): CallRecord | undefined {
  let earliest: CallRecord | undefined;
  for (const row of rows) {
    if (call.except?.has(row.key) === true || answersUntil(row) <= at.now) continue;
    if (isNamedBy(row, call.modelCall) && isInRun(row, call)) return row;
    if (!answers(row, call, at)) continue;
    if (earliest === undefined || row.call.id < earliest.call.id) earliest = row;
  }
  return earliest;
}

function isInRun({ call }: CallRecord, { runId }: EqualCall): boolean {
  return runId === undefined || call.authority.runId === runId;
}

function answers(row: CallRecord, call: EqualCall, { now, approval }: AnsweringAt): boolean {
  const { state, idempotent, aliveUntil = Infinity, approvalId } = row;
  if (state === "unknown") return !idempotent;
  if (!isInRun(row, call)) return false;
  const { modelCall } = call;
  if (modelCall !== undefined && modelCallsOf(row).some(({ turn }) => turn === modelCall.turn)) return false;
  if (row.call.idempotencyKey !== undefined) return mayHaveBegun(row);
  switch (state) {
    case "held":
    case "denied":
      return aliveUntil > now;
    case "suspended":
      return true;
    case "queued":
    case "attempted":
      return !idempotent;
    case "ok": // a caller that has not read the answer to an approved effect must not ask a person again
      return (modelCall === undefined || row.unread === true) && row.aliveUntil !== undefined && aliveUntil > now;
    case "failed": // likewise; or the tool did not run, and its approval is still to be used
      if (approvalId === undefined || aliveUntil <= now) return false;
      return (modelCall !== undefined && row.unread === true) || approval(approvalId)?.state === "approved";
  }
}

/** It may have had an effect, and its end is not known. */
export function mayHaveBegun({ state, idempotent }: CallRecord): boolean {
  if (state === "suspended") return true;
  return !idempotent && (state === "attempted" || state === "queued" || state === "unknown");
}

/** Until when (wall clock, exclusive) the row may answer an equal call. `-Infinity` if it never does. */
export function answersUntil(row: CallRecord): number {
  const { match, state, aliveUntil, call, joined } = row;
  if (match === undefined) return -Infinity;
  if (joined !== undefined || mayHaveBegun(row)) return Infinity;
  if (call.idempotencyKey !== undefined) return -Infinity;
  return aliveUntil ?? (state === "held" ? Infinity : -Infinity);
}
