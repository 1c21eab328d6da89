import type { Risk } from "../core/call.ts";
import type { ApprovalRecord, ApprovalState, CallRecord, CallState } from "../core/records.ts";
import { rankOf } from "../core/risk.ts";

/** How many requests wait, by risk. */
export type WaitingApproval = Readonly<Record<Risk, number>>;

const minuteMs = 60_000;
const riskiest = rankOf("critical");

/**
 * The order of what waits, the smallest first: what ends first, and of what ends in the same minute the riskiest. One
 * number, so that an index holds it: the minute, then the risk, then the rest of the minute.
 */
export function urgencyOf({ expiresAt, risk }: Pick<ApprovalRecord, "expiresAt" | "risk">): number {
  const minute = Math.floor(expiresAt / minuteMs);
  const calmness = riskiest - rankOf(risk);
  return (minute * (riskiest + 1) + calmness) * minuteMs + (expiresAt - minute * minuteMs);
}

/**
 * Where a list goes on: behind this request. In a list of what is pending as it stood there, for an edit may change its
 * risk, and with it its place, while somebody turns the page.
 */
export function cursorOf(approval: Pick<ApprovalRecord, "id" | "expiresAt" | "risk">, isUrgent: boolean): string {
  return isUrgent ? `${approval.id}@${urgencyOf(approval)}` : approval.id;
}

/** An id alone stands for the place it has now. Undefined: it is no cursor. */
export function placeIn(cursor: string): { readonly id: string; readonly urgency: number | undefined } | undefined {
  const [, id, urgency] = /^([^@]+)(?:@(\d{1,16}))?$/.exec(cursor) ?? [];
  if (id === undefined) return undefined;
  return { id, urgency: urgency === undefined ? undefined : Number(urgency) };
}

/** As it is to whoever would use it: what is over by the clock has expired, whatever the row says still. */
export function stateAt({ state, expiresAt }: Pick<ApprovalRecord, "state" | "expiresAt">, now: number): ApprovalState {
  return (state === "pending" || state === "approved") && expiresAt <= now ? "expired" : state;
}

/** A held call is denied when the time of its request is over, whatever the row says still. */
export function callStateAt({ state, aliveUntil }: Pick<CallRecord, "state" | "aliveUntil">, now: number): CallState {
  return state === "held" && aliveUntil !== undefined && aliveUntil <= now ? "denied" : state;
}

/** When what has this urgency ends, as SQL: wall clock, milliseconds. */
export const endOfUrgency: string = `urgency / ${(riskiest + 1) * minuteMs} * ${minuteMs} + urgency % ${minuteMs}`;
