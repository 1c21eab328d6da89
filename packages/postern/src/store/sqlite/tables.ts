import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { type ApprovalRecord, type CallRecord, deepFrozen, type Json } from "@postern/core";
import { audienceKey } from "../audience.ts";
import { artifactDigestsIn } from "../references.ts";
import { type CountedCalls, keptMs, type Period, periodMs, periodOf } from "../statistics.ts";
import type { PendingCall, WriteBatch } from "./batch.ts";
import {
  type CallRow,
  insertCall,
  insertedOutcome,
  insertValues,
  recordOf,
  updateCall,
  updatedOutcome,
  updateValues,
} from "./rows.ts";

/** The prepared writes and reads of single rows; queries.ts has the lists. Columns are named: a newer Postern may have added others. */
export class Tables {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #insertCall: StatementSync;
  readonly #updateCall: StatementSync;
  readonly #refer: StatementSync;
  readonly #putApproval: StatementSync;
  readonly #putDocument: StatementSync;
  readonly #addEvent: StatementSync;
  readonly #count: StatementSync;
  readonly #forgetCounts: StatementSync;
  readonly #callById: StatementSync;
  readonly #callByKey: StatementSync;
  readonly #callLeftBy: StatementSync;
  readonly #answeringCalls: StatementSync;
  readonly #openCalls: StatementSync;
  readonly #approval: StatementSync;
  readonly #document: StatementSync;
  /** The latest hour in which something was counted. */
  #hour = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#begin = database.prepare("begin");
    this.#commit = database.prepare("commit");
    this.#insertCall = database.prepare(insertCall);
    this.#updateCall = database.prepare(updateCall);
    this.#refer = database.prepare("insert or ignore into call_artifact (digest, id) values (?, ?)");
    this.#putApproval = database.prepare(
      `insert into approval (id, state, tenant, tool, risk, agent, user, run, audience, ends, body)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       on conflict (id) do update set state = excluded.state, risk = excluded.risk, audience = excluded.audience,
         ends = excluded.ends, body = excluded.body`,
    );
    this.#putDocument = database.prepare(
      "insert or replace into document (kind, id, version, body) values (?, ?, ?, ?)",
    );
    this.#addEvent = database.prepare("insert into event (seq, body) values (?, ?)");
    this.#count = database.prepare(
      `insert into statistic values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do update
         set count = count + excluded.count, last_at = max(last_at, excluded.last_at)`,
    );
    this.#forgetCounts = database.prepare("delete from statistic where minutes = ? and at < ?");
    this.#callById = database.prepare("select * from call where id = ?");
    this.#callByKey = database.prepare("select * from call where key = ?");
    this.#callLeftBy = database.prepare("select * from call where left_by = ?");
    this.#answeringCalls = database.prepare("select * from call where match = ? and live_until > ? order by id");
    this.#openCalls = database.prepare("select * from call where fence is not null and fence <> ? order by id");
    this.#approval = database.prepare("select body from approval where id = ?");
    this.#document = database.prepare("select version, body from document where kind = ? and id = ?");
  }

  /**
   * One transaction. If it throws, nothing of the batch is written.
   *
   * @param seq the place of the first event
   */
  write(batch: WriteBatch, seq: number): void {
    try {
      this.#begin.get();
      for (const pending of batch.calls.values()) this.#writeCall(pending);
      for (const approval of batch.approvals.values()) this.#writeApproval(approval);
      for (const { kind, id, version, body } of batch.documents.values())
        this.#putDocument.get(kind, id, version, JSON.stringify(body));
      for (const [i, { body }] of batch.entries.entries()) this.#addEvent.get(seq + i, body);
      for (const [key, counted] of batch.statistics.rows) this.#writeCounted(periodOf(key), counted);
      this.#commit.get();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("rollback");
      throw error;
    }
  }

  callByKey(key: string): CallRecord | undefined {
    const own = this.callById(key);
    return own?.key === key ? own : one(this.#callByKey, key);
  }

  /** By the id of its first arrival. */
  callById(id: string): CallRecord | undefined {
    return one(this.#callById, id);
  }

  /** By the id of a later arrival, as long as that one left it unknown. */
  callLeftBy(id: string): CallRecord | undefined {
    return one(this.#callLeftBy, id);
  }

  /** The rows that a re-send without a key may find, oldest first. */
  answering(match: string, now: number): readonly CallRecord[] {
    const first = this.#answeringCalls.get(match, now); // most calls have no twin
    return first === undefined ? [] : many(this.#answeringCalls, match, now);
  }

  /** Attempted by other incarnations. */
  stranded(incarnation: string): readonly CallRecord[] {
    return many(this.#openCalls, incarnation);
  }

  approval(id: string): ApprovalRecord | undefined {
    const row = this.#approval.get(id);
    return row && deepFrozen(JSON.parse(String(row["body"])));
  }

  document(kind: string, id: string): { readonly version: number; readonly body: Json } | undefined {
    const row = this.#document.get(kind, id);
    return row && { version: Number(row["version"]), body: JSON.parse(String(row["body"])) };
  }

  #writeCall({ record, isNew }: PendingCall): void {
    const values = isNew ? insertValues(record) : updateValues(record);
    (isNew ? this.#insertCall : this.#updateCall).get(...values); // `run` also counts the changes
    const { id, text } = record.call;
    if (isNew) for (const digest of artifactDigestsIn(text)) this.#refer.get(digest, id);
    const outcome = values[isNew ? insertedOutcome : updatedOutcome];
    if (typeof outcome === "string") for (const digest of artifactDigestsIn(outcome)) this.#refer.get(digest, id);
  }

  #writeApproval(approval: ApprovalRecord): void {
    const { id, state, tool, risk, runId, principal } = approval;
    const { tenant, agent, user = null } = principal;
    const found = [tenant, tool, risk, agent, user, runId, audienceKey(approval), approval.expiresAt];
    this.#putApproval.get(id, state, ...found, JSON.stringify(approval));
  }

  #writeCounted(period: Period, counted: CountedCalls): void {
    const { at, tenant, tool, action, agent, decider, as, code, step, count, lastAt } = counted;
    const names = [tenant, tool, action, agent, decider, as, code];
    this.#count.get(minutesOf(period), at, ...names, step, count, lastAt);
    const hour = at - (at % periodMs.hour);
    if (hour <= this.#hour) return;
    this.#hour = hour;
    for (const one of ["minute", "hour"] as const) this.#forgetCounts.get(minutesOf(one), hour - keptMs[one]);
  }
}

/** The column `minutes` of `statistic`. */
export function minutesOf(period: Period): number {
  return periodMs[period] / periodMs.minute;
}

function one(statement: StatementSync, value: string): CallRecord | undefined {
  const row = statement.get(value);
  return row && recordOf(row as unknown as CallRow); // the columns are those of schema.ts
}

function many(statement: StatementSync, ...values: SQLInputValue[]): CallRecord[] {
  return statement.all(...values).map((row) => recordOf(row as unknown as CallRow)); // the columns are those of schema.ts
}
