import type { DatabaseSync, StatementSync } from "node:sqlite";
import { deepFrozen } from "@postern/core";
import { compareGroups, noRequests } from "../lists.ts";
import { addedUp, type CountedCalls, periodMs, type StatisticsFilter } from "../statistics.ts";
import type {
  ApprovalFilter,
  GroupFilter,
  RequestCounts,
  SharedMember,
  WaitingAudience,
  WaitingFilter,
  WaitingGroup,
} from "../store.ts";
import { conditionsOf, type SqlCondition, whole } from "./conditions.ts";
import { minutesOf } from "./tables.ts";

const columns: Readonly<Record<SharedMember, string>> = { risk: "risk", tool: "tool", runId: "run", agent: "agent" };

/** Expired requests of each group that are pending still: few, because they are ended on time. */
const expired = `(select run, audience, count(*) as over from approval indexed by approval_ends
  where state = 'pending' and ends <= ? group by run, audience)`;

/** Counts, from the tables that the triggers of schema-step-9.ts keep, and statistics. */
export class CountQueries {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  audiences(where: WaitingFilter, now: number): readonly WaitingAudience[] {
    const { sql, values } = whole(conditionsOf(where));
    return this.#database
      .prepare(
        `select key, waiting, body from approval join (
           select audience as key, sum(count - ifnull(over, 0)) as waiting, min(first) as number
             from waiting left join ${expired} using (run, audience) where ${sql} group by audience
         ) using (number)`,
      )
      .all(now, ...values)
      .map((row) => ({
        key: String(row["key"]),
        waiting: Number(row["waiting"]),
        audience: deepFrozen(JSON.parse(String(row["body"]))),
      }));
  }

  groups(where: GroupFilter, now: number): readonly WaitingGroup[] {
    const { by, limit = Infinity, audiences } = where;
    const inAudience = "audience in (select value from json_each(?))";
    const mine: SqlCondition = [inAudience, audiences && JSON.stringify(audiences)];
    const { sql, values } = whole([mine, ...conditionsOf(where)]);
    const members = by.map((member) => `${columns[member]} as ${member}`);
    const keys = by.map((member) => columns[member]).join(", ");
    // `min` of nothing is null, so an empty list of members has no group when nothing waits.
    const rows = this.#database
      .prepare(
        `select ${[...members, "sum(count - ifnull(over, 0)) as waiting", "min(first) as first", "max(last) as last"].join(", ")}
           from waiting left join ${expired} using (run, audience) where ${sql}
           ${by.length === 0 ? "" : `group by ${keys}`} having waiting > 0 order by waiting desc${keys && `, ${keys}`} limit ?`,
      )
      .all(now, ...values, Number.isFinite(limit) ? limit : -1);
    const madeAt = this.#database.prepare("select body ->> '$.requestedAt' as at from approval where number = ?");
    return rows
      .map(
        (row): WaitingGroup => ({
          ...Object.fromEntries(by.map((member) => [member, String(row[member])])),
          waiting: Number(row["waiting"]),
          oldestAt: timeIn(madeAt, row["first"]),
          newestAt: timeIn(madeAt, row["last"]),
        }),
      )
      .sort((a, b) => compareGroups(a, b, by));
  }

  counts({ tenant }: Pick<ApprovalFilter, "tenant">, now: number): RequestCounts {
    const { sql, values } = whole([["tenant = ?", tenant]]);
    const number = (of: string, ...more: readonly number[]): number =>
      Number(this.#database.prepare(`select count(*) as n from ${of} and ${sql}`).get(...more, ...values)?.["n"]);
    const requests = noRequests();
    const rows = this.#database.prepare(`select state, sum(count) as n from request_count where ${sql} group by state`);
    for (const { state, n } of rows.all(...values)) {
      if (isState(state, requests)) requests[state] = Number(n);
    }
    const late = {
      pending: number("approval indexed by approval_ends where state = 'pending' and ends <= ?", now),
      approved: number("approval indexed by approval_unused where state = 'approved' and ends <= ?", now),
    };
    requests.pending -= late.pending;
    requests.approved -= late.approved;
    requests.expired += late.pending + late.approved;
    return { requests, unknownCalls: number("call indexed by call_unknown where state = 'unknown'") };
  }

  /** Read a day at a time, so that other work goes on. */
  async statistics(where: StatisticsFilter): Promise<readonly CountedCalls[]> {
    const { period, tenant, tool, agent, until, by } = where;
    const { sql, values } = whole([
      ["tenant = ?", tenant],
      ["tool = ?", tool],
      ["agent = ?", agent],
    ]);
    const read = this.#database.prepare(
      `select at, tenant, tool, action, agent, decider, counted_as, code, step, count, last_at from statistic
         where minutes = ? and at >= ? and at < ? and ${sql}`,
    );
    const minutes = minutesOf(period);
    let rows: readonly CountedCalls[] = [];
    for (let from = this.#firstFrom(minutes, where.from); from < until; ) {
      const end = Math.min(until, from + dayMs);
      rows = addedUp([...rows, ...read.all(minutes, from, end, ...values).map(countedOf)], by);
      await new Promise((resolve) => setImmediate(resolve));
      from = this.#firstFrom(minutes, end);
    }
    return rows;
  }

  /** The first period from `from` on in which something was counted. */
  #firstFrom(minutes: number, from: number): number {
    const first = this.#database
      .prepare("select min(at) as at from statistic where minutes = ? and at >= ?")
      .get(minutes, from)?.["at"];
    return typeof first === "number" ? first : Infinity;
  }
}

const dayMs = 24 * periodMs.hour;

function isState(state: unknown, requests: RequestCounts["requests"]): state is keyof RequestCounts["requests"] {
  return typeof state === "string" && Object.hasOwn(requests, state);
}

function timeIn(statement: StatementSync, number: unknown): number {
  return Number(statement.get(Number(number))?.["at"]);
}

export function countedOf(row: Readonly<Record<string, unknown>>): CountedCalls {
  const { at, tenant, tool, action, agent, decider, counted_as: as, code, step, count, last_at: lastAt } = row;
  return { at, tenant, tool, action, agent, decider, as, code, step, count, lastAt } as CountedCalls; // as tables.ts wrote it
}
