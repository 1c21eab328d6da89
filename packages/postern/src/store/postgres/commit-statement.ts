/** The statement that writes a batch: `postern_commit_1` of schema.ts, then `postern_count_2`, if it was written. */
import type { ApprovalRecord } from "@postern/core";
import { audienceKey } from "../audience.ts";
import { artifactDigestsIn } from "../references.ts";
import { type CountedCalls, type Period, periodMs, periodOf, type StatisticRows } from "../statistics.ts";
import { type BatchRows, namesOf } from "./batch-rows.ts";
import { rowOf, type StoredCallRow, type VersionedRow } from "./rows.ts";
import { toStored } from "./text.ts";

export const commitStatement: string = `with written as materialized (
    select postern_commit_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) as place
  ) select place, postern_count_2(place, $16) from written`;

/** The parameters after the gateway, its session and the number of the batch: one list each, because each is parsed alone. */
export type BatchParameters = readonly (string | null)[];

/** What a batch writes beside its rows. */
export interface BatchContent {
  /** By which it was decided: wall clock, milliseconds. */
  readonly now: number;
  readonly events: readonly string[];
  readonly statistics: StatisticRows;
}

/** Undefined if the batch writes nothing and checks nothing. */
export function parametersOf(rows: BatchRows, { now, events, statistics }: BatchContent): BatchParameters | undefined {
  const calls = [...rows.calls].map(([key, { row, version }]) => [rows.isNew(key), rowOf(row, version)] as const);
  const lists: readonly (readonly unknown[])[] = [
    [...rows.checkedCalls].map(([key, version]) => ({ key: toStored(key), version })),
    [...rows.checkedMatches].map(([match, count]) => ({ match: toStored(match), now, rows: count })),
    [...rows.checkedApprovals].map(([id, version]) => ({ id: toStored(id), version })),
    [...rows.checkedDocuments].map(([name, version]) => ({ ...storedNames(name), version })),
    calls.filter(([isNew]) => isNew).map(([, row]) => row),
    calls.filter(([isNew]) => !isNew).map(([, row]) => row),
    calls.flatMap(([, row]) => referencesOf(row)),
    [...rows.approvals.values()].map(approvalRow),
    [...rows.documents].map(([name, { version, body }]) => ({
      ...{ ...storedNames(name), version },
      body: JSON.stringify(body),
    })),
    events,
    [...rows.checkedScopes].map(([scope, seq]) => ({ scope: toStored(scope), seq })),
    [...rows.scopes].map(toStored),
    [...statistics.rows].map(([key, counted]) => countedRow(periodOf(key), counted)),
  ];
  if (lists.every((list) => list.length === 0)) return undefined;
  return lists.map((list) => (list.length === 0 ? null : JSON.stringify(list)));
}

function referencesOf({ id, arguments: text, outcome }: StoredCallRow): readonly { digest: string; id: string }[] {
  const digests = [...artifactDigestsIn(text), ...artifactDigestsIn(outcome ?? "")];
  return digests.map((digest) => ({ digest, id }));
}

function approvalRow({ row, version }: VersionedRow<ApprovalRecord>): object {
  const { id, state, tool, risk, runId, principal } = row;
  const { tenant, agent, user } = principal;
  const names = { tenant: toStored(tenant), agent: toStored(agent), user: user === undefined ? null : toStored(user) };
  return {
    ...{ id: toStored(id), state, tool: toStored(tool), risk, run: toStored(runId), ...names },
    ...{ audience: audienceKey(row), ends: row.expiresAt, body: JSON.stringify(row), version },
  };
}

export function countedRow(period: Period, { tenant, tool, action, agent, decider, ...counted }: CountedCalls): object {
  const { at, as, code, step, count, lastAt } = counted;
  const names = { tenant: toStored(tenant), tool: toStored(tool), action: toStored(action), agent: toStored(agent) };
  const minutes = periodMs[period] / periodMs.minute;
  return { minutes, at, ...names, decider: toStored(decider), counted_as: as, code, step, count, last_at: lastAt };
}

function storedNames(name: string): { readonly kind: string; readonly id: string } {
  const [kind, id] = namesOf(name);
  return { kind: toStored(kind), id: toStored(id) };
}
