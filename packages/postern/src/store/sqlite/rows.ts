/** A call as a row of schema.ts, and back. */
import type { SQLInputValue } from "node:sqlite";
import { type CallRecord, type CallState, deepFrozen, type ToolCall } from "@postern/core";
import { sha256 } from "@postern/core/system";
import { answersUntil } from "../equal-calls.ts";
import { outcomeOf, outcomeText } from "../row-texts.ts";
import { leftUnknownBy } from "../rules.ts";

export interface CallRow {
  readonly id: string;
  readonly key: string | null;
  readonly match: string | null;
  readonly fence: string | null;
  readonly state: CallState;
  readonly tool: string;
  readonly parent: string | null;
  readonly alive_until: number | null;
  readonly arguments: string;
  readonly body: string;
  readonly outcome: string | null;
}

/** The members without a column of their own. */
type RowBody = Omit<CallRecord, "key" | "match" | "fence" | "state" | "aliveUntil" | "outcome" | "call"> & {
  readonly call: Omit<ToolCall, "id" | "tool" | "parentId" | "arguments" | "text" | "digest">;
};

export const insertCall = `insert into call (id, key, left_by, match, live_until, fence, state, tool, tenant, run, parent,
  alive_until, arguments, body, outcome) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const updateCall = `update call set left_by = ?, match = ?, live_until = ?, fence = ?, state = ?, alive_until = ?,
  body = ?, outcome = ? where id = ?`;

/** The position of the outcome among the parameters. */
export const insertedOutcome = 14;
export const updatedOutcome = 7;

/** The parameters of `insertCall`. */
export function insertValues(record: CallRecord): SQLInputValue[] {
  const { key, call, match, fence, state, aliveUntil } = record;
  const { id, tool, parentId, text, authority } = call;
  const ownKey = key === id ? null : key;
  const named = [id, ownKey, leftUnknownBy(record) ?? null, match ?? null, liveColumn(record), fence ?? null];
  const listed = [state, tool, authority.principal.tenant, authority.runId, parentId ?? null, aliveUntil ?? null];
  return [...named, ...listed, text, bodyOf(record), outcomeText(record.outcome) ?? null];
}

/** The parameters of `updateCall`: what may change in a row, then its id. */
export function updateValues(record: CallRecord): SQLInputValue[] {
  const { call, match, fence, state, aliveUntil } = record;
  const named = [leftUnknownBy(record) ?? null, match ?? null, liveColumn(record), fence ?? null];
  return [...named, state, aliveUntil ?? null, bodyOf(record), outcomeText(record.outcome) ?? null, call.id];
}

export function recordOf(row: CallRow): CallRecord {
  const { call, ...rest }: RowBody = deepFrozen(JSON.parse(row.body));
  return {
    ...rest,
    key: row.key ?? row.id,
    match: row.match ?? undefined,
    fence: row.fence ?? undefined,
    state: row.state,
    aliveUntil: row.alive_until ?? undefined,
    outcome: row.outcome === null ? undefined : outcomeOf(row.outcome),
    call: {
      ...call,
      id: row.id,
      tool: row.tool,
      parentId: row.parent ?? undefined,
      arguments: deepFrozen(JSON.parse(row.arguments)),
      text: row.arguments,
      digest: sha256(row.arguments),
    },
  };
}

export function bodyOf(record: CallRecord): string {
  const { call, risk, definition, idempotent, approvalId, startedAt, endedAt, retryable, image } = record;
  const { attemptedBy, joined, unread, paused, endUnseen, erasedAt } = record;
  const { action, authority, arrivedAt, idempotencyKey, toolCallId, turn, providerItem, resumes } = call;
  const kept = { action, authority, arrivedAt, idempotencyKey, toolCallId, turn, providerItem, resumes };
  const judged = { risk, definition, idempotent, approvalId };
  const body: RowBody = {
    call: kept,
    ...judged,
    startedAt,
    endedAt,
    retryable,
    image,
    ...(attemptedBy !== undefined && { attemptedBy }),
    ...(joined && { joined }),
    ...(unread && { unread }),
    ...(paused && { paused }),
    ...(endUnseen && { endUnseen }),
    ...(erasedAt !== undefined && { erasedAt }),
  };
  return JSON.stringify(body);
}

/** Until when the row may answer an equal call: null if it does not, the largest number if time does not end it. */
export function liveColumn(record: CallRecord): number | null {
  const until = answersUntil(record);
  return until === -Infinity ? null : Math.min(until, Number.MAX_SAFE_INTEGER);
}
