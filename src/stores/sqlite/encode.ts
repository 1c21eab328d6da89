/** A record as a row of schema 3, and back. Texts that many rows share are spelled once. */

import type { SQLInputValue } from "node:sqlite";
import type { Authority, ToolCall } from "../../calls/call.ts";
import { deepFrozen, type Json, type JsonObject, sha256 } from "../../calls/json.ts";
import { isPlainText, type ToolOutcome } from "../../calls/outcome.ts";
import type { CallRecord, CallState } from "../../calls/records.ts";
import { rankOf, risks } from "../../calls/risk.ts";
import { callStates } from "../../calls/states.ts";

/** Kept as their index. */
export const states: readonly CallState[] = callStates;
const stateNumbers = new Map(states.map((state, number) => [state, number]));

export interface CallRow {
  readonly number: number;
  readonly id: string;
  readonly state: number;
  readonly flags: number;
  readonly alive_until: number | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly arrived_at: number;
  readonly trace_id: string;
  readonly more: string | null;
  readonly arguments: string;
  readonly outcome: string | null;
  readonly tool: string;
  readonly action: string;
  readonly definition: string;
  readonly fence: string | null;
  readonly authority: string;
}

/** Rows with what they share; conditions may follow. */
export const selectCalls: string = `select call.*, tool, action, definition, fence, authority
  from call join call_form on call_form.number = call.form`;

/** What plain calls do not have. */
interface RareFields {
  readonly key?: string | undefined;
  readonly match?: string | undefined;
  readonly approvalId?: string | undefined;
  readonly image?: string | undefined;
  readonly parentId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly toolCallId?: string | undefined;
  readonly providerItem?: JsonObject | undefined;
  readonly resumes?: string | undefined;
  readonly taskId?: string | undefined;
  readonly stepId?: string | undefined;
}

const idempotentFlag = 4;
const retryableFlag = 8;
const authorities = new Map<string, Authority>();

export function stateNumber(state: CallState): number {
  return stateNumbers.get(state) ?? -1;
}

/** Adds all columns, in the table's order. Returns the outcome's. */
export function addInsertValues(values: SQLInputValue[], record: CallRecord, form: number): string | null {
  const { call } = record;
  const outcome = outcomeText(record);
  values.push(
    call.number,
    call.id,
    stateNumber(record.state),
    flagsOf(record),
    form,
    record.aliveUntil ?? null,
    record.startedAt ?? null,
    record.endedAt ?? null,
    call.arrivedAt,
    call.authority.traceId,
    moreOf(record),
    call.text,
    outcome,
  );
  return outcome;
}

/** What may change in a row, then its number: the parameters of `updateSql`. */
export function updateValues(record: CallRecord, form: number): SQLInputValue[] {
  return [
    stateNumber(record.state),
    flagsOf(record),
    form,
    record.aliveUntil ?? null,
    record.startedAt ?? null,
    record.endedAt ?? null,
    moreOf(record),
    outcomeText(record),
    record.call.number,
  ];
}
export const updateSql: string = `update call set state=?, flags=?, form=?, alive_until=?,
  started_at=?, ended_at=?, more=?, outcome=? where number=?`;

/** Where the outcome stands among them. */
export const outcomeAt = 7;

export function recordOf(row: CallRow): CallRecord {
  const rare: RareFields = row.more === null ? {} : JSON.parse(row.more);
  return {
    key: rare.key ?? row.id,
    match: rare.match,
    call: callOf(row, rare),
    state: states[row.state] ?? "unknown",
    risk: risks[row.flags & 3] ?? "critical",
    definition: row.definition,
    idempotent: (row.flags & idempotentFlag) !== 0,
    fence: row.fence ?? undefined,
    approvalId: rare.approvalId,
    aliveUntil: row.alive_until ?? undefined,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    outcome: row.outcome === null ? undefined : deepFrozen(outcomeOf(row.outcome, row.id)),
    retryable: (row.flags & retryableFlag) !== 0,
    image: rare.image,
  };
}

function callOf(row: CallRow, rare: RareFields): ToolCall {
  return {
    id: row.id,
    number: row.number,
    tool: row.tool,
    action: row.action,
    arguments: deepFrozen(JSON.parse(row.arguments)),
    text: row.arguments,
    digest: sha256(row.arguments),
    authority: authorityOf(row, rare),
    arrivedAt: row.arrived_at,
    parentId: rare.parentId,
    idempotencyKey: rare.idempotencyKey,
    toolCallId: rare.toolCallId,
    providerItem: rare.providerItem,
    resumes: rare.resumes,
  };
}

/** One block of text is the outcome's text: it is kept once. Of most calls it is all there is, and kept as a JSON string. */
function outcomeText({ outcome, call }: CallRecord): string | null {
  if (outcome === undefined) return null;
  const [only] = outcome.content;
  if (outcome.content.length !== 1 || !isPlainText(only) || only.text !== outcome.text) return JSON.stringify(outcome);
  const { status, callId, text, structured, expiresAt, artifact, cut, summary, files, preview, marks } = outcome;
  const { refusal, approvalId, replayed, timedOut } = outcome;
  const rare = artifact ?? cut ?? summary ?? files ?? preview ?? marks ?? refusal ?? approvalId ?? replayed ?? timedOut;
  if (rare === undefined && status === "ok" && callId === call.id && expiresAt === undefined) {
    if (structured === undefined) return JSON.stringify(text);
    if (JSON.stringify(structured) === text) return `[${text}]`; // what spells itself is kept once
  }
  const kept: Kept = {
    status,
    callId,
    text,
    structured,
    artifact,
    cut,
    files,
    summary,
    preview,
    marks,
    refusal,
    approvalId,
    expiresAt,
    replayed,
    timedOut,
  };
  return JSON.stringify(kept);
}

/** Every field of an outcome but its content, said by the compiler: one that is new is kept as well. */
type Kept = { readonly [Name in Exclude<keyof ToolOutcome, "content">]: unknown };

/** Its content is its text. */
type Short<Outcome> = Outcome extends ToolOutcome ? Omit<Outcome, "content"> : never;

function outcomeOf(kept: string, id: string): ToolOutcome {
  const outcome: ToolOutcome | Short<ToolOutcome> | string | readonly [Json] = JSON.parse(kept);
  if (typeof outcome === "string")
    return { status: "ok", callId: id, content: [{ type: "text", text: outcome }], text: outcome };
  if (isList(outcome)) {
    const text = kept.slice(1, -1);
    return { status: "ok", callId: id, content: [{ type: "text", text }], text, structured: outcome[0] };
  }
  return "content" in outcome ? outcome : { ...outcome, content: [{ type: "text", text: outcome.text }] };
}

function isList(value: object | readonly [Json]): value is readonly [Json] {
  return Array.isArray(value);
}

function flagsOf({ risk, idempotent, retryable }: CallRecord): number {
  return rankOf(risk) | (idempotent ? idempotentFlag : 0) | (retryable ? retryableFlag : 0);
}

function moreOf({ key, match, approvalId, image, call }: CallRecord): string | null {
  const { id, parentId, idempotencyKey, toolCallId, providerItem, resumes, authority } = call;
  const { taskId, stepId } = authority;
  const isPlain =
    key === id &&
    match === undefined &&
    approvalId === undefined &&
    image === undefined &&
    parentId === undefined &&
    idempotencyKey === undefined &&
    toolCallId === undefined &&
    providerItem === undefined &&
    resumes === undefined &&
    taskId === undefined &&
    stepId === undefined;
  if (isPlain) return null;
  const ownKey = key === id ? undefined : key;
  const rare: RareFields = { key: ownKey, match, approvalId, image, parentId, idempotencyKey, toolCallId, resumes };
  return JSON.stringify({ ...rare, providerItem, taskId, stepId });
}

/** The calls of a session share one object, also when they are read again. */
function authorityOf({ authority: text, trace_id: traceId }: CallRow, { taskId, stepId }: RareFields): Authority {
  const name = JSON.stringify([traceId, taskId, stepId, text]);
  const known = authorities.get(name);
  if (known !== undefined) return known;
  const own = { traceId, ...(taskId !== undefined && { taskId }), ...(stepId !== undefined && { stepId }) };
  const authority: Authority = deepFrozen({ ...JSON.parse(text), ...own });
  if (authorities.size >= 256) authorities.clear();
  authorities.set(name, authority);
  return authority;
}
