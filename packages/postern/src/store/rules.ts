/**
 * When a write wins, and what the rows are then; the same for every store.
 * It only reads `rows`, which must show every earlier decision, queued or written. Invariant: for one key at most one
 * execution starts, and an approval ends once. A row keeps its first `call`; later arrivals appear in events only.
 */

import {
  type ApprovalRecord,
  type ApprovalState,
  type CallRecord,
  type DurableEvent,
  deepFrozen,
  type Json,
  modelCallOf,
  modelCallsOf,
  type RowEnd,
  type StoreWrite,
  statedRunOf,
} from "@postern/core";
import { dataOf } from "../call/arrival.ts";
import { type EqualCall, mayHaveBegun } from "./equal-calls.ts";

/** The rows as they are now, for `resultOfWrite`. */
export interface StoredRows {
  /** Of the store that decides. It becomes the fence of a claimed row. */
  readonly incarnation: string;
  /** Wall clock, milliseconds. */
  now(): number;
  call(key: string): CallRecord | undefined;
  /** The row that answers an equal call (equal-calls.ts). */
  answering(call: EqualCall): CallRecord | undefined;
  approval(id: string): ApprovalRecord | undefined;
  /** 0 when the document does not exist. */
  version(kind: string, id: string): number;
  /** The entry with which another process changed a scope of past calls last, if it is after `upTo`. A store of one process has none. */
  changedByOthers?(scope: string, upTo: number): number | undefined;
}

/** A document that a write makes. */
export interface NewDocument {
  readonly kind: string;
  readonly id: string;
  readonly version: number;
  readonly body: Json;
}

/** What a write that wins stores, all of it or nothing. `before` is the row that `call` replaces. */
export interface WonWrite {
  readonly won: true;
  readonly before?: CallRecord | undefined;
  readonly call?: CallRecord;
  readonly approval?: ApprovalRecord;
  readonly document?: NewDocument;
  /** The scopes of past calls that it changes. */
  readonly scopes?: readonly string[];
}

/** What the caller of a write that loses gets: the row or the version that won. */
export interface LostWrite {
  readonly won: false;
  readonly call?: CallRecord;
  readonly approval?: ApprovalRecord;
  readonly version?: number;
  readonly pastChanged?: number;
}

/** So that an agent that sends a call again in each turn does not make its row grow. */
const mostJoined = 32;

type WriteOf<Kind extends StoreWrite["write"]> = Extract<StoreWrite, { readonly write: Kind }>;

/**
 * Whether a write wins against these rows, and what the store must keep then. It reads `rows` and changes nothing, so it
 * may run again. No other write may come between it and the storing of its result. The approval in the result is a
 * frozen copy that belongs to the store.
 */
export function resultOfWrite(write: StoreWrite, rows: StoredRows): WonWrite | LostWrite {
  const ruling = ruled(write, rows);
  if (!ruling.won || ruling.approval === undefined) return ruling;
  return { ...ruling, approval: deepFrozen(structuredClone(ruling.approval)) };
}

function ruled(write: StoreWrite, rows: StoredRows): WonWrite | LostWrite {
  switch (write.write) {
    case "hold":
      return hold(write, rows);
    case "decide":
      return decide(write, rows);
    case "claim":
      return claim(write, rows);
    case "settle":
      return settle(write, rows);
    case "document":
      return putDocument(write, rows);
    case "note":
      return { won: true };
    case "join":
      return join(write, rows);
    default:
      return write satisfies never;
  }
}

/** Id of the arrival that left the call unknown, if it was not the first: `Store.call` finds the row by it too. */
export function leftUnknownBy({ state, outcome, call }: CallRecord): string | undefined {
  return state === "unknown" && outcome !== undefined && outcome.callId !== call.id ? outcome.callId : undefined;
}

/** The event of the document that a decision adds: the store appends it after the event of the write. */
export function secondEventOf(write: StoreWrite): DurableEvent | undefined {
  return write.write === "decide" ? write.addedDocument?.event : undefined;
}

/** Another row that answers this call, so that it must not wait or start on its own. */
function otherOf(record: CallRecord, before: CallRecord | undefined, rows: StoredRows): CallRecord | undefined {
  const { key, match, call } = record;
  if (match === undefined || call.idempotencyKey !== undefined) return undefined;
  const own = modelCallOf(call) ?? (before && modelCallOf(before.call));
  const found = rows.answering({ match, runId: statedRunOf(call.authority), modelCall: own, except: call.batch });
  return found?.key === key ? undefined : found;
}

function hold({ record, approval }: WriteOf<"hold">, rows: StoredRows): WonWrite | LostWrite {
  const now = rows.now();
  const before = rows.call(record.key);
  if (before !== undefined && !mayBeHeld(before, now)) return { won: false, call: before };
  const other = otherOf(record, before, rows);
  if (other !== undefined) return { won: false, call: other };
  return {
    won: true,
    before,
    call: {
      ...record,
      call: before?.call ?? dataOf(record.call),
      ...(before?.joined !== undefined && { joined: before.joined }),
    },
    approval,
  };
}

function join({ key, modelCall }: WriteOf<"join">, rows: StoredRows): WonWrite | LostWrite {
  const before = rows.call(key);
  if (before === undefined || modelCallsOf(before).some(({ turn }) => turn === modelCall.turn)) return { won: false };
  const joined = [...(before.joined ?? []), modelCall].slice(-mostJoined);
  const { unread: _, ...row } = before; // the caller that joins reads the outcome
  return { won: true, before, call: { ...row, joined } };
}

function decide(write: WriteOf<"decide">, rows: StoredRows): WonWrite | LostWrite {
  const ruling = decided(write, rows);
  const { addedDocument } = write;
  if (!ruling.won || addedDocument === undefined) return ruling;
  const made = putDocument({ write: "document", ...addedDocument, expectedVersion: 0 }, rows);
  return made.won ? { ...ruling, ...made } : made;
}

function decided({ approval, denied, expectedRevision }: WriteOf<"decide">, rows: StoredRows): WonWrite | LostWrite {
  const before = rows.approval(approval.id);
  if (before === undefined) return { won: false };
  const now = rows.now();
  if (!mayBecome(before, approval.state, now)) return { won: false, approval: before };
  const seen = expectedRevision === (before.revision ?? 0);
  // A writer that has not seen the latest vote, edit or reminder must not overwrite it.
  if (!seen && (expectedRevision !== undefined || approval.state === "pending"))
    return { won: false, approval: before };
  const held = rows.call(before.key);
  // A row that was held again belongs to a newer request; a late end of the old one must not touch it.
  if (held?.state !== "held" || held.approvalId !== before.id) return { won: true, approval };
  const released = approval.state === "expired" || approval.state === "withdrawn"; // a re-send makes a new request
  if (denied === undefined && !released) return { won: true, approval };
  const aliveUntil = released ? Math.min(now, held.aliveUntil ?? now) : held.aliveUntil;
  const end = denied === undefined ? {} : { state: "denied" as const, outcome: deepFrozen(denied), endedAt: now };
  return { won: true, approval, before: held, call: { ...held, ...end, aliveUntil } };
}

function claim(write: WriteOf<"claim">, rows: StoredRows): WonWrite | LostWrite {
  const ruling = claimed(write, rows);
  const { past } = write;
  if (!ruling.won || past === undefined) return ruling;
  const { judgedBy, upTo, scopes } = past;
  const changes = judgedBy.flatMap((scope) => rows.changedByOthers?.(scope, upTo) ?? []);
  return changes.length > 0 ? { won: false, pastChanged: Math.max(...changes) } : { ...ruling, scopes };
}

function claimed({ record, fresh, use }: WriteOf<"claim">, rows: StoredRows): WonWrite | LostWrite {
  const before = fresh ? undefined : rows.call(record.key);
  if (before !== undefined && !mayStart(before, rows)) return { won: false, call: before };
  const other = record.idempotent ? undefined : otherOf(record, before, rows);
  if (other !== undefined && mayHaveBegun(other)) return { won: false, call: other };
  if (use === undefined) return { won: true, before, call: started(record, before, rows.incarnation) };
  const approval = rows.approval(use);
  const usable = approval?.state === "approved" && approval.key === record.key && approval.expiresAt > rows.now();
  if (!usable) return { won: false, ...(before && { call: before }), ...(approval && { approval }) };
  const call = started(record, before, rows.incarnation);
  return { won: true, before, call, approval: { ...approval, state: "used" } };
}

function settle({ key, fence, end, by, unspend, taints }: WriteOf<"settle">, rows: StoredRows): WonWrite | LostWrite {
  const before = rows.call(key);
  if (before === undefined) return { won: false };
  const isOwn = by === undefined ? before.state === "attempted" && before.fence === fence : before.state === "unknown";
  if (!isOwn) return { won: false, call: before };
  const call = ended(before, by === undefined ? end : { ...end, image: before.image });
  const scopes = taints && { scopes: taints };
  const spent = unspend === undefined ? undefined : rows.approval(unspend);
  if (spent?.state !== "used" || spent.key !== key) return { won: true, before, call, ...scopes };
  return { won: true, before, call, approval: { ...spent, state: "approved" }, ...scopes };
}

function putDocument({ kind, id, body, expectedVersion }: WriteOf<"document">, rows: StoredRows): WonWrite | LostWrite {
  const version = rows.version(kind, id);
  if (version !== expectedVersion) return { won: false, version };
  return { won: true, document: { kind, id, body, version: version + 1 } };
}

function mayBecome(approval: ApprovalRecord, state: ApprovalState, now: number): boolean {
  switch (state) {
    case "pending":
    case "approved":
    case "denied":
    case "skipped":
      return approval.state === "pending" && approval.expiresAt > now;
    case "expired":
      return approval.state === "pending" && approval.expiresAt <= now;
    case "withdrawn":
      return approval.state === "pending" || approval.state === "approved";
    case "used": // only a claim uses one
      return false;
    default:
      state satisfies never;
      return false;
  }
}

/** Whether a new request may be made for a known call: it is not running, done or waiting. */
function mayBeHeld(record: CallRecord, now: number): boolean {
  return (
    mayRunAgain(record) ||
    (record.state === "held" && isOver(record, now)) ||
    (record.state === "denied" && isOver(record, now))
  );
}

function mayStart(record: CallRecord, rows: StoredRows): boolean {
  const { state } = record;
  if (state === "held" || state === "suspended" || state === "queued") return true;
  return mayRunAgain(record) || (state === "denied" && isOver(record, rows.now()));
}

/** A retryable failure, or an unknown call that is harmless or that an operator settled as `retry`. */
function mayRunAgain({ state, retryable, idempotent }: CallRecord): boolean {
  return state === "failed" ? retryable : state === "unknown" && (idempotent || retryable);
}

function isOver({ aliveUntil }: CallRecord, now: number): boolean {
  return aliveUntil !== undefined && aliveUntil <= now;
}

function started(record: CallRecord, before: CallRecord | undefined, fence: string): CallRecord {
  if (before !== undefined) {
    const isUnread = modelCallOf(record.call) === undefined && modelCallsOf(before).length > 0;
    const { id } = record.call;
    const attemptedBy = id === before.call.id ? {} : { attemptedBy: id };
    return { ...kept(record, before), ...attemptedBy, ...(isUnread && { unread: true }), fence };
  }
  return { ...record, call: dataOf(record.call), fence };
}

function ended(before: CallRecord, end: RowEnd): CallRecord {
  return { ...before, ...end, aliveUntil: end.aliveUntil ?? before.aliveUntil, fence: undefined };
}

/** A suspended call goes on: its earlier parts still count. */
function pausedSoFar(before: CallRecord, { startedAt: now }: CallRecord): Pick<CallRecord, "paused"> {
  const { state, startedAt, endedAt, paused = { ranMs: 0, waitedMs: 0 } } = before;
  if (state !== "suspended" || startedAt === undefined || endedAt === undefined || now === undefined) return {};
  const [ranMs, waitedMs] = [Math.max(0, endedAt - startedAt), Math.max(0, now - endedAt)];
  return { paused: { ranMs: paused.ranMs + ranMs, waitedMs: paused.waitedMs + waitedMs } };
}

/** Keeps what the first arrival set. */
function kept(record: CallRecord, before: CallRecord): CallRecord {
  return {
    ...record,
    call: before.call,
    ...(before.joined !== undefined && { joined: before.joined }),
    ...pausedSoFar(before, record),
    match: before.match ?? record.match,
    approvalId: before.approvalId ?? record.approvalId,
    aliveUntil: before.aliveUntil ?? record.aliveUntil,
  };
}
