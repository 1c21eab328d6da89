import {
  type ApprovalRecord,
  type ApprovalState,
  type CallRecord,
  type CallState,
  type Risk,
  rankOf,
} from "@postern/core";

/** How many requests wait, by risk. */
export type WaitingApproval = Readonly<Record<Risk, number>>;

const minuteMs = 60_000;
const riskiest = rankOf("critical");

/**
 * The order of waiting requests, smallest first: by the minute they expire, then the riskiest, then the rest of the
 * minute. It is one number, so an index can hold it.
 */
export function urgencyOf({ expiresAt, risk }: Pick<ApprovalRecord, "expiresAt" | "risk">): number {
  const minute = Math.floor(expiresAt / minuteMs);
  const calmness = riskiest - rankOf(risk);
  return (minute * (riskiest + 1) + calmness) * minuteMs + (expiresAt - minute * minuteMs);
}

/**
 * The cursor behind this request. For pending requests it holds the urgency, because an edit may change the risk, and so
 * the place, between two pages.
 */
export function cursorOf(approval: Pick<ApprovalRecord, "id" | "expiresAt" | "risk">, isUrgent: boolean): string {
  return isUrgent ? `${approval.id}@${urgencyOf(approval)}` : approval.id;
}

/** Reads `ApprovalFilter.after`; an id alone means its present place. Returns undefined if it is neither. */
export function placeOfCursor(
  cursor: string,
): { readonly id: string; readonly urgency: number | undefined } | undefined {
  const [, id, urgency] = /^([^@]+)(?:@(\d{1,16}))?$/.exec(cursor) ?? [];
  if (id === undefined) return undefined;
  return { id, urgency: urgency === undefined ? undefined : Number(urgency) };
}

/** The state of a request by the clock: unused past its time, it has expired. */
export function requestStateAt(
  { state, expiresAt }: Pick<ApprovalRecord, "state" | "expiresAt">,
  now: number,
): ApprovalState {
  return (state === "pending" || state === "approved") && expiresAt <= now ? "expired" : state;
}

/** The state of a call by the clock: a held one is denied when its request has expired. */
export function callStateAt({ state, aliveUntil }: Pick<CallRecord, "state" | "aliveUntil">, now: number): CallState {
  return state === "held" && aliveUntil !== undefined && aliveUntil <= now ? "denied" : state;
}

/** The expiry of a request in SQL, from its urgency: wall clock, milliseconds. */
export const endOfUrgency: string = `urgency / ${(riskiest + 1) * minuteMs} * ${minuteMs} + urgency % ${minuteMs}`;
