/** A record as a row of schema 1, and back. Texts that many rows share are spelled once. */
import type { SQLInputValue } from "node:sqlite";
import type { Authority, ToolCall } from "../../calls/call.ts";
import type { CallRecord, CallState } from "../../calls/records.ts";
import { sha256 } from "../../calls/json.ts";
import type { ToolOutcome } from "../../calls/outcome.ts";
import { rankOf, risks } from "../../calls/risk.ts";

/** Kept as their index; the numbers 0, 3 and 7 are also in the schema's `call_waiting`. */
export const states: readonly CallState[] = [
  "held",
  "queued",
  "attempted",
  "suspended",
  "ok",
  "failed",
  "denied",
  "unknown",
];
const stateNumbers = new Map(states.map((state, number) => [state, number]));

export interface CallRow {
  readonly number: number;
  readonly id: string;
  readonly key: string | null;
  readonly state: number;
  readonly flags: number;
  readonly fence: string | null;
  readonly alive_until: number | null;
  readonly approval: string | null;
  readonly match: string | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly image: string | null;
  readonly tool: string;
  readonly action: string;
  readonly definition: string;
  readonly arrived_at: number;
  readonly authority: string;
  readonly more: string | null;
  readonly arguments: string;
  readonly outcome: string | null;
}

type RareFields = Pick<ToolCall, "parentId" | "idempotencyKey" | "resumes">;

const idempotentFlag = 4;
const retryableFlag = 8;
const authorityTexts = new WeakMap<Authority, string>();
const authorities = new Map<string, Authority>();

export function stateNumber(state: CallState): number {
  return stateNumbers.get(state) ?? -1;
}

/** All columns, in the table's order. */
export function insertValues(record: CallRecord): SQLInputValue[] {
  const { call } = record;
  return [
    call.number,
    call.id,
    record.key === call.id ? null : record.key,
    stateNumber(record.state),
    flagsOf(record),
    record.fence ?? null,
    record.aliveUntil ?? null,
    record.approvalId ?? null,
    record.match ?? null,
    record.startedAt ?? null,
    record.endedAt ?? null,
    record.image ?? null,
    call.tool,
    call.action,
    record.definition,
    call.arrivedAt,
    authorityText(call.authority),
    moreOf(call),
    call.text,
    outcomeText(record),
  ];
}

/** What may change in a row, then its number: the parameters of `updateSql`. */
export function updateValues(record: CallRecord): SQLInputValue[] {
  return [
    stateNumber(record.state),
    flagsOf(record),
    record.fence ?? null,
    record.aliveUntil ?? null,
    record.approvalId ?? null,
    record.match ?? null,
    record.startedAt ?? null,
    record.endedAt ?? null,
    record.image ?? null,
    record.definition,
    outcomeText(record),
    record.call.number,
  ];
}
export const updateSql: string = `update call set state=?, flags=?, fence=?, alive_until=?, approval=?, match=?,
  started_at=?, ended_at=?, image=?, definition=?, outcome=? where number=?`;

export function recordOf(row: CallRow): CallRecord {
  return {
    key: row.key ?? row.id,
    match: row.match ?? undefined,
    call: callOf(row),
    state: states[row.state] ?? "unknown",
    risk: risks[row.flags & 3] ?? "critical",
    definition: row.definition,
    idempotent: (row.flags & idempotentFlag) !== 0,
    fence: row.fence ?? undefined,
    approvalId: row.approval ?? undefined,
    aliveUntil: row.alive_until ?? undefined,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    outcome: row.outcome === null ? undefined : outcomeOf(row.outcome),
    retryable: (row.flags & retryableFlag) !== 0,
    image: row.image ?? undefined,
  };
}

function callOf(row: CallRow): ToolCall {
  const rare: RareFields = row.more === null ? {} : JSON.parse(row.more);
  return {
    id: row.id,
    number: row.number,
    tool: row.tool,
    action: row.action,
    arguments: JSON.parse(row.arguments),
    text: row.arguments,
    digest: sha256(row.arguments),
    authority: authorityOf(row.authority),
    arrivedAt: row.arrived_at,
    parentId: rare.parentId,
    idempotencyKey: rare.idempotencyKey,
    resumes: rare.resumes,
  };
}

/** One block of text is the outcome's text: it is kept once. */
function outcomeText({ outcome }: CallRecord): string | null {
  if (outcome === undefined) return null;
  const [only] = outcome.content;
  if (outcome.content.length !== 1 || only?.type !== "text" || only.text !== outcome.text) return JSON.stringify(outcome);
  const { content: _, ...rest } = outcome;
  return JSON.stringify(rest);
}

function outcomeOf(kept: string): ToolOutcome {
  const outcome: ToolOutcome | Omit<ToolOutcome, "content"> = JSON.parse(kept);
  return "content" in outcome ? outcome : { ...outcome, content: [{ type: "text", text: outcome.text }] };
}

function flagsOf({ risk, idempotent, retryable }: CallRecord): number {
  return rankOf(risk) | (idempotent ? idempotentFlag : 0) | (retryable ? retryableFlag : 0);
}

function moreOf({ parentId, idempotencyKey, resumes }: RareFields): string | null {
  if (parentId === undefined && idempotencyKey === undefined && resumes === undefined) return null;
  return JSON.stringify({ parentId, idempotencyKey, resumes });
}

function authorityText(authority: Authority): string {
  let text = authorityTexts.get(authority);
  if (text === undefined) {
    text = JSON.stringify(authority);
    authorityTexts.set(authority, text);
  }
  return text;
}

/** The calls of a session share one object, also when they are read again. */
function authorityOf(text: string): Authority {
  let authority = authorities.get(text);
  if (authority === undefined) {
    if (authorities.size >= 256) authorities.clear();
    const read: Authority = JSON.parse(text);
    authorities.set(text, read);
    authority = read;
  }
  return authority;
}
