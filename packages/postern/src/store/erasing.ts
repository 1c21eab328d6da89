/**
 * What retention may erase, for all stores alike. It never erases what is open (a request that waits, a call that runs, an
 * outcome that is unknown), what a rule of the policy still counts, and what still answers a call that is sent again.
 */
import { type ApprovalRecord, type CallRecord, parentKeyOf, storedEventIn } from "@postern/core";
import { sha256 } from "@postern/core/system";
import { answersUntil } from "./equal-calls.ts";

export interface ErasingBefore {
  /** Wall clock, milliseconds: what ended before it may be erased. */
  readonly before: number;
  /** Wall clock, milliseconds: calls that started after it are counted by rules. `-Infinity`: all of them are. */
  readonly countedAfter: number;
  /** Wall clock, milliseconds. */
  readonly now: number;
}

/** `row`: nothing is left. `body`: arguments and outcome go; the row still says that its key was used. */
export type Erasure = "keep" | "body" | "row";

/** Finds a call by its key, or by the id of an arrival of it. */
export type FindCall = (key: string) => CallRecord | undefined;

export function erasureOfCall(record: CallRecord, where: ErasingBefore, find: FindCall): Erasure {
  const { state, key, call, aliveUntil, endedAt, erasedAt } = record;
  if (isOpen(record, where.now) || isCounted(record, where)) return "keep";
  const isExpired = state === "held" || (state === "denied" && aliveUntil !== undefined); // it may ask again
  const end = isExpired ? aliveUntil : endedAt;
  if ((end ?? call.arrivedAt) >= where.before) return "keep";
  if (call.parentId !== undefined) return parentOf(call, find) === undefined ? "row" : "keep";
  if (isExpired) return "row";
  const until = answersUntil(record);
  if (until > where.now && until !== Infinity) return "keep";
  if (key === call.id && until <= where.now) return "row"; // it cannot be sent again
  return erasedAt === undefined ? "body" : "keep";
}

export function mayEraseRequest(request: ApprovalRecord, where: ErasingBefore, find: FindCall): boolean {
  const { state, expiresAt, decision, key } = request;
  const isUndecided = state === "pending" || state === "approved" || decision === undefined;
  if ((isUndecided ? expiresAt : Math.max(expiresAt, decision.at)) >= where.before) return false;
  const call = find(key);
  if (call === undefined) return true;
  const parent = parentOf(call.call, find);
  const isReplayed = parent !== undefined && (isOpen(parent, where.now) || parent.retryable);
  return !(isReplayed || isOpen(call, where.now) || isCounted(call, where));
}

/** The parent of a call, if it can be sent again: then it replays its calls instead of running them, so they stay whole. */
function parentOf({ parentId, idempotencyKey = "" }: CallRecord["call"], find: FindCall): CallRecord | undefined {
  if (parentId === undefined) return undefined;
  const parent = find(parentId) ?? find(parentKeyOf(idempotencyKey)); // a later arrival of it is found by its key
  return parent?.erasedAt === undefined ? parent : undefined;
}

/** An entry without its body. Every entry that was not erased is JSON, so it begins with another character. */
const erased = /^#erased ([0-9a-f]{64})$/;

/**
 * What is kept of an erased entry: its leaf in the tree, so that the log still verifies. Each entry about a call has ids
 * with 74 random bits, so that its content cannot be guessed from the digest.
 */
export function erasedEntry(body: string): string {
  return erased.test(body) ? body : `#erased ${sha256(`\0${body}`)}`;
}

/** The leaf of an erased entry, 64 hex digits. Undefined for every other body. */
export function erasedLeaf(body: string): string | undefined {
  return body.startsWith("#") ? erased.exec(body)?.[1] : undefined;
}

/** When the entry was written. Undefined if it is to stay: it is erased, about no call, or about an open one. */
export function erasableSince(body: string, find: FindCall, now: number): number | undefined {
  if (!body.startsWith("{")) return undefined;
  const { type, refs, timestamp } = storedEventIn(body) ?? {};
  if (typeof type !== "string" || !/^(?:tool_call|gate)\./.test(type) || typeof timestamp !== "string")
    return undefined;
  const { key, tool_call: arrival } = Object(refs) as { readonly key?: unknown; readonly tool_call?: unknown };
  for (const name of [key, arrival]) {
    const call = typeof name === "string" ? find(name) : undefined;
    if (call !== undefined && isOpen(call, now)) return undefined;
  }
  return Date.parse(timestamp);
}

function isOpen({ state, aliveUntil }: CallRecord, now: number): boolean {
  switch (state) {
    case "attempted":
    case "queued":
    case "suspended":
    case "unknown":
      return true;
    case "held":
      return aliveUntil === undefined || aliveUntil > now;
    case "ok":
    case "failed":
    case "denied":
      return false;
    default:
      return state satisfies never;
  }
}

function isCounted({ startedAt }: CallRecord, { countedAfter }: ErasingBefore): boolean {
  return startedAt !== undefined && startedAt > countedAfter;
}
