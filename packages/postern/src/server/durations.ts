import { type ApprovalRecord, arrivedAtOf, type CallRecord } from "@postern/core";
import type { CallView } from "@postern/core/contract";
import { votesLeft } from "../approvals/quorum.ts";

type Durations = CallView["durations"];

/**
 * Where the time of a call went. A part that has not ended is missing, and so is the tool's if its end was not seen.
 *
 * @param approval as it is now
 */
export function durationsOf(record: CallRecord, approval: ApprovalRecord | undefined): Durations {
  const [gate, waiting, tool] = [gateMs(record, approval), waitingMs(record, approval), toolMs(record)];
  return {
    ...(gate !== undefined && { gate_ms: gate }),
    ...(waiting !== undefined && { waiting_ms: waiting }),
    ...(tool !== undefined && { tool_ms: tool }),
  };
}

/** Of the arrival that asked, until it asked, and of the arrival that ran, from its coming or the decision until the claim. */
function gateMs(
  { call, attemptedBy, startedAt }: CallRecord,
  approval: ApprovalRecord | undefined,
): number | undefined {
  const attemptedAt = (attemptedBy === undefined ? undefined : arrivedAtOf(attemptedBy)) ?? call.arrivedAt;
  const left = (from: number): number => (startedAt === undefined ? 0 : between(from, startedAt));
  if (approval === undefined) return startedAt === undefined ? undefined : left(attemptedAt);
  const { requestedAt } = approval;
  const { arrivedAt = attemptedAt <= requestedAt ? attemptedAt : call.arrivedAt } = approval;
  return between(arrivedAt, requestedAt) + left(Math.max(attemptedAt, decidedAt(approval) ?? requestedAt));
}

function waitingMs({ state, paused }: CallRecord, approval: ApprovalRecord | undefined): number | undefined {
  if (state === "suspended" || (approval === undefined && paused === undefined)) return undefined;
  const decided = approval && decidedAt(approval);
  if (approval !== undefined && decided === undefined) return undefined;
  const held = approval === undefined || decided === undefined ? 0 : between(approval.requestedAt, decided);
  return held + (paused?.waitedMs ?? 0);
}

function toolMs({ state, startedAt, endedAt, endUnseen, paused }: CallRecord): number | undefined {
  if ((state !== "ok" && state !== "failed") || endUnseen === true) return undefined;
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return between(startedAt, endedAt) + (paused?.ranMs ?? 0);
}

/** An approval that was taken back later had its answer all the same. */
function decidedAt(approval: ApprovalRecord): number | undefined {
  const { state, decision, votes = [], expiresAt } = approval;
  if (state === "pending") return undefined;
  const approved = state === "withdrawn" && votesLeft(approval) === 0 ? votes.at(-1)?.at : undefined;
  return Math.min(approved ?? decision?.at ?? expiresAt, expiresAt);
}

/** A wall clock may go back. */
function between(from: number, until: number): number {
  return Math.max(0, until - from);
}
