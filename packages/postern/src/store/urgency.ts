import {
  type ApprovalRecord,
  type ApprovalState,
  type CallRecord,
  type CallState,
  type Risk,
  rankOf,
  risks,
} from "@postern/core";

/** How many requests wait, by risk. */
export type WaitingApproval = Readonly<Record<Risk, number>>;

/** Requests that end within this time come before all others. */
export const soonMs = 5 * 60_000;

/** A part of the list of waiting requests: those that end soon, then one part for each risk, the riskiest first. */
export type WaitingPart = "soon" | Risk;

/** Where a page of waiting requests ended. */
export interface WaitingPlace {
  readonly id: string;
  /** The part of the list in which the page ended. Undefined: the part in which the request is now. */
  readonly part?: WaitingPart;
  /** Wall clock, milliseconds: what ends until then is in the part `soon`, on all pages of one reading. */
  readonly soonUntil?: number;
}

/** The row that a cursor names. `part` is that of the cursor. */
export interface FoundPlace {
  readonly part: WaitingPart | undefined;
  readonly number: number;
  readonly expiresAt: number;
  readonly risk: Risk;
}

const riskiest = rankOf("critical");
/** Larger than any number of requests; the largest place still is an exact number. */
const partSize = 2 ** 50;

/** The part of a request, on pages that were begun with this `soonUntil`. */
export function partOf(
  { expiresAt, risk }: Pick<ApprovalRecord, "expiresAt" | "risk">,
  soonUntil: number,
): WaitingPart {
  return expiresAt <= soonUntil ? "soon" : risk;
}

/**
 * The order of the requests that do not end soon, the smallest first: by risk, critical ones newest first, others oldest
 * first. It is one number, so an index can hold it.
 *
 * @param number counts the requests of the store in the order in which they came, from 0 or 1
 */
export function placeOf(risk: Risk, number: number): number {
  return risk === "critical" ? -number : (riskiest - rankOf(risk)) * partSize + number;
}

/** `placeOf` in SQL, of the columns `risk` and `number`. */
export const placeInSql: string = `case risk ${risks
  .map((risk) => `when '${risk}' then ${placeOf(risk, 0)} ${risk === "critical" ? "-" : "+"} number`)
  .join(" ")} end`;

/**
 * The cursor behind a waiting request: the next page begins there. It names the part and holds `soonUntil`, so the pages
 * of one reading agree about the parts while time passes, requests are decided and others arrive.
 */
export function cursorOf(
  approval: Pick<ApprovalRecord, "id" | "expiresAt" | "risk">,
  soonUntil: number | undefined,
): string {
  if (soonUntil === undefined) return approval.id;
  return `${approval.id}@${partOf(approval, soonUntil)}.${soonUntil}`;
}

const cursorForm = new RegExp(`^([^@]+)(?:@(soon|${risks.join("|")})\\.(\\d{1,16}))?$`);

/** Reads `ApprovalFilter.after`; an id alone means its present place. Returns undefined if it is neither. */
export function placeOfCursor(cursor: string): WaitingPlace | undefined {
  const [, id, part, soonUntil] = cursorForm.exec(cursor) ?? [];
  if (id === undefined) return undefined;
  // The form names only these parts.
  return part === undefined ? { id } : { id, part: part as WaitingPart, soonUntil: Number(soonUntil) };
}

/** The `soonUntil` of a page: that of its cursor, else five minutes from now. */
export function soonUntilOf(after: string | undefined, now: number): number {
  return (after === undefined ? undefined : placeOfCursor(after)?.soonUntil) ?? now + soonMs;
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
