import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { ApprovalRecord } from "../../calls/records.ts";
import { type Audience, audienceText } from "../audience.ts";
import type { ApprovalFilter } from "../store.ts";

/** Audiences kept parsed; they never change, and there are far fewer in any house. */
const mostParsed = 20_000;

/** Requests for approval. A list is decided on narrow indexes and audiences; only what is shown is read as a whole. */
export class ApprovalRows {
  readonly #database: DatabaseSync;
  readonly #put: StatementSync;
  readonly #addAudience: StatementSync;
  readonly #audience: StatementSync;
  readonly #get: StatementSync;
  readonly #parsed = new Map<number, Audience>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#put = database.prepare(
      `insert into approval (id, state, tenant, body, audience, run) values (?, ?, ?, ?, ?, ?)
       on conflict (id) do update set state = excluded.state, body = excluded.body, audience = excluded.audience`,
    );
    this.#addAudience = database.prepare(
      "insert or ignore into approval_audience (tenant, tool, risk, agent, body) values (?, ?, ?, ?, ?)",
    );
    this.#audience = database.prepare("select number from approval_audience where body = ?");
    this.#get = database.prepare("select body from approval where id = ?");
  }

  put(approval: ApprovalRecord): void {
    const { id, state, principal, runId } = approval;
    const audience = this.#numberOf(approval);
    this.#put.get(id, state, principal.tenant, JSON.stringify(approval), audience, runId);
  }

  get(id: string): ApprovalRecord | undefined {
    const row = this.#get.get(id);
    return row && parsed(row);
  }

  /** Old to new. */
  list(where: ApprovalFilter): readonly ApprovalRecord[] {
    const { state, runId, after, limit = Infinity } = where;
    const audiences = this.#audiencesOf(where);
    const isPending = state === "pending"; // spelled out below: a parameter would not use the index of those alone
    const conditions: readonly (readonly [sql: string, value: SQLInputValue | undefined])[] = [
      ["number > (select number from approval where id = ?)", after],
      ["state = ?", isPending ? undefined : state],
      ["run = ?", runId],
      ["audience in (select value from json_each(?))", audiences && JSON.stringify(audiences)],
    ];
    const asked = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
    const all = [...(isPending ? ["state = 'pending'"] : []), ...asked.map(({ sql }) => sql)].join(" and ");
    const index = isPending ? "approval_pending" : "approval_list";
    const numbers = `select number from approval indexed by ${index} where ${all || "1"} order by number limit ?`;
    return this.#database
      .prepare(`select body from approval where number in (${numbers}) order by number`)
      .all(...asked.map(({ value }) => value), Number.isFinite(limit) ? limit : -1)
      .map(parsed);
  }

  /** Those that fit; undefined: any does. */
  #audiencesOf({ state, tenant, tool, risk, agent, isFor }: ApprovalFilter): readonly number[] | undefined {
    const asked = Object.entries({ tenant, tool, risk, agent }).filter(([, value]) => value !== undefined);
    if (asked.length === 0 && isFor === undefined) return undefined;
    const inUse =
      state === "pending"
        ? "number in (select audience from approval indexed by approval_pending where state = 'pending')"
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

function parsed(row: Readonly<Record<string, unknown>>): ApprovalRecord {
  return JSON.parse(String(row["body"]));
}
