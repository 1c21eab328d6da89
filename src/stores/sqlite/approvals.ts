import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { deepFrozen } from "../../calls/json.ts";
import type { ApprovalRecord } from "../../calls/records.ts";
import { type Audience, audienceText } from "../audience.ts";
import type { ApprovalFilter, WaitingFilter } from "../store.ts";
import { endOfUrgency, nothingWaits, placeIn, urgencyOf, type Waiting } from "../urgency.ts";

/** Audiences kept parsed; they never change, and there are far fewer in any house. */
const mostParsed = 20_000;

/** Spelled out: with a parameter the index of what is pending would not be used. */
const isPending = "state = 'pending'";

type Condition = readonly [sql: string, ...values: readonly (SQLInputValue | undefined)[]];

/** Requests for approval. A list is decided on narrow indexes and audiences; only what is shown is read as a whole. */
export class ApprovalRows {
  readonly #database: DatabaseSync;
  readonly #put: StatementSync;
  readonly #addAudience: StatementSync;
  readonly #audience: StatementSync;
  readonly #get: StatementSync;
  readonly #place: StatementSync;
  readonly #parsed = new Map<number, Audience>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#put = database.prepare(
      `insert into approval (id, state, tenant, body, audience, run, urgency) values (?, ?, ?, ?, ?, ?, ?)
       on conflict (id) do update set state = excluded.state, body = excluded.body, audience = excluded.audience,
         urgency = excluded.urgency`,
    );
    this.#addAudience = database.prepare(
      "insert or ignore into approval_audience (tenant, tool, risk, agent, body) values (?, ?, ?, ?, ?)",
    );
    this.#audience = database.prepare("select number from approval_audience where body = ?");
    this.#get = database.prepare("select body from approval where id = ?");
    this.#place = database.prepare("select urgency, number from approval where id = ?");
  }

  put(approval: ApprovalRecord): void {
    const { id, state, principal, runId } = approval;
    const audience = this.#numberOf(approval);
    this.#put.get(id, state, principal.tenant, JSON.stringify(approval), audience, runId, urgencyOf(approval));
  }

  get(id: string): ApprovalRecord | undefined {
    const row = this.#get.get(id);
    return row && parsed(row);
  }

  /** What is pending by urgency, and of what is alike in that the older; what is decided new to old; all else old to new. */
  list(where: ApprovalFilter, now: number): readonly ApprovalRecord[] {
    const { state, after, limit = Infinity } = where;
    const place = after === undefined ? {} : this.#placeAt(after);
    if (place === undefined) return [];
    const { urgency, number } = place;
    const isUrgent = state === "pending";
    const isNewFirst = state === "decided";
    const { sql, values } = spelled([
      isUrgent ? [isPending] : stateCondition(state, now),
      isUrgent ? ["(urgency, number) > (?, ?)", urgency, number] : [`number ${isNewFirst ? "<" : ">"} ?`, number],
      ...this.#conditions(where),
    ]);
    const index = isUrgent ? "approval_pending" : "approval_list";
    const order = isUrgent ? "urgency, number" : isNewFirst ? "number desc" : "number";
    const numbers = `select number from approval indexed by ${index} where ${sql} order by ${order} limit ?`;
    return this.#database
      .prepare(`select body from approval where number in (${numbers}) order by ${order}`)
      .all(...values, Number.isFinite(limit) ? limit : -1)
      .map(parsed);
  }

  waiting(where: WaitingFilter, now: number): Waiting {
    const { sql, values } = spelled([
      [isPending],
      [`${endOfUrgency} > ?`, now],
      ...this.#conditions({ ...where, state: "pending" }),
    ]);
    const counts = `select audience, count(*) as count from approval indexed by approval_pending where ${sql} group by audience`;
    const byRisk = this.#database
      .prepare(
        `select risk, sum(count) as count from (${counts}) join approval_audience on number = audience group by risk`,
      )
      .all(...values);
    return { ...nothingWaits, ...Object.fromEntries(byRisk.map(({ risk, count }) => [String(risk), Number(count)])) };
  }

  #placeAt(cursor: string): { readonly urgency?: SQLInputValue; readonly number?: SQLInputValue } | undefined {
    const said = placeIn(cursor);
    const found = said && this.#place.get(said.id);
    return found && { ...found, ...(said.urgency !== undefined && { urgency: said.urgency }) };
  }

  #conditions(where: ApprovalFilter): readonly Condition[] {
    const audiences = this.#audiencesOf(where);
    return [
      ["run = ?", where.runId],
      ["audience in (select value from json_each(?))", audiences && JSON.stringify(audiences)],
    ];
  }

  /** Those that fit; undefined: any does. */
  #audiencesOf({ state, tenant, tool, risk, agent, isFor }: ApprovalFilter): readonly number[] | undefined {
    const asked = Object.entries({ tenant, tool, risk, agent }).filter(([, value]) => value !== undefined);
    if (asked.length === 0 && isFor === undefined) return undefined;
    const inUse =
      state === "pending"
        ? `number in (select audience from approval indexed by approval_pending where ${isPending})`
        : "1";
    const where = [inUse, ...asked.map(([name]) => `${name} = ?`)].join(" and ");
    const columns = isFor === undefined ? "number" : "number, body";
    const found = this.#database
      .prepare(`select ${columns} from approval_audience where ${where}`)
      .all(...asked.map(([, value]) => value ?? null))
      .map(({ number, body }) => ({ number: Number(number), body: String(body) }));
    const fitting = isFor === undefined ? found : found.filter((one) => isFor(this.#parse(one)));
    return fitting.map(({ number }) => number);
  }

  #numberOf(approval: ApprovalRecord): number {
    const { tool, risk, principal } = approval;
    const body = audienceText(approval);
    this.#addAudience.get(principal.tenant, tool, risk, principal.agent, body);
    return Number(this.#audience.get(body)?.["number"]);
  }

  #parse({ number, body }: { readonly number: number; readonly body: string }): Audience {
    const known = this.#parsed.get(number);
    if (known !== undefined) return known;
    const audience: Audience = JSON.parse(body);
    if (this.#parsed.size >= mostParsed) this.#parsed.clear();
    this.#parsed.set(number, audience);
    return audience;
  }
}

/** As urgency.ts has it of one record. */
function stateCondition(state: ApprovalFilter["state"], now: number): Condition {
  if (state === "approved") return [`state = 'approved' and ${endOfUrgency} > ?`, now];
  if (state === "expired")
    return [`(state = 'expired' or (state in ('pending', 'approved') and ${endOfUrgency} <= ?))`, now];
  if (state === "decided") return [`(state <> 'pending' or ${endOfUrgency} <= ?)`, now];
  return ["state = ?", state];
}

function parsed(row: Readonly<Record<string, unknown>>): ApprovalRecord {
  return deepFrozen(JSON.parse(String(row["body"])));
}

/** Those that are asked for: all of whose values are there. */
function spelled(conditions: readonly Condition[]): {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
} {
  const asked = conditions.filter(([, ...values]) => !values.includes(undefined));
  return {
    sql: asked.map(([sql]) => sql).join(" and ") || "1",
    values: asked.flatMap(([, ...values]) => values).filter((value) => value !== undefined),
  };
}
