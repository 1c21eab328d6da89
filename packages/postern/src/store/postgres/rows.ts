/** A call as a row of schema.ts, and back. The texts in it are those of the store in a file. */
import { type CallRecord, type CallState, deepFrozen } from "@postern/core";
import { outcomeText } from "../row-texts.ts";
import { leftUnknownBy } from "../rules.ts";
import { bodyOf, liveColumn, recordOf as recordOfRow } from "../sqlite/rows.ts";
import { fromStored, toStored } from "./text.ts";

/** As PostgreSQL reads it from JSON, and as `pg` gives it. `version` counts the writes of the row; `bigint` comes as text. */
export interface StoredCallRow {
  readonly key: string;
  readonly id: string;
  readonly left_by: string | null;
  readonly match: string | null;
  readonly live_until: number | string | null;
  readonly fence: string | null;
  readonly state: CallState;
  readonly tool: string;
  readonly tenant: string;
  readonly run: string;
  readonly parent: string | null;
  readonly alive_until: number | null;
  readonly arguments: string;
  readonly body: string;
  readonly outcome: string | null;
  readonly version: number | string;
}

/** A row with the number of times it was written; 0 and undefined if there is none. */
export interface VersionedRow<Row> {
  readonly version: number;
  readonly row: Row;
}

export function rowOf(record: CallRecord, version: number): StoredCallRow {
  const { key, call, match, fence, state, aliveUntil } = record;
  const { id, tool, parentId, text, authority } = call;
  const { principal, runId } = authority;
  return {
    key: toStored(key),
    id: toStored(id),
    left_by: optional(leftUnknownBy(record)),
    match: optional(match),
    live_until: liveColumn(record),
    fence: optional(fence),
    state,
    tool: toStored(tool),
    tenant: toStored(principal.tenant),
    run: toStored(runId),
    parent: optional(parentId),
    alive_until: aliveUntil ?? null,
    arguments: text,
    body: bodyOf(record),
    outcome: outcomeText(record.outcome) ?? null,
    version,
  };
}

export function recordOf(row: StoredCallRow): CallRecord {
  const { key, id, match, fence, tool, parent } = row;
  return recordOfRow({
    ...row,
    key: fromStored(key),
    id: fromStored(id),
    match: match === null ? null : fromStored(match),
    fence: fence === null ? null : fromStored(fence),
    tool: fromStored(tool),
    parent: parent === null ? null : fromStored(parent),
  });
}

export function versioned(row: StoredCallRow): VersionedRow<CallRecord> {
  return { version: Number(row.version), row: recordOf(row) };
}

/** Frozen, as every stored row. */
export function parsed<Row>(body: string): Row {
  return deepFrozen(JSON.parse(body));
}

function optional(text: string | undefined): string | null {
  return text === undefined ? null : toStored(text);
}
