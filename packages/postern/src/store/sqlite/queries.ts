import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { type ApprovalRecord, type CallRecord, deepFrozen } from "@postern/core";
import { artifactDigestsIn, callNeedsArtifacts, requestNeedsArtifacts } from "../references.ts";
import type {
  ApprovalFilter,
  AudienceFilter,
  CallFilter,
  EntryFilter,
  StoreEntry,
  WaitingAudience,
  WaitingFilter,
} from "../store.ts";
import { endOfUrgency, placeOfCursor } from "../urgency.ts";
import { type CallRow, recordOf } from "./rows.ts";

/** Rows that are read before other work gets a turn. */
const rowsATurn = 2048;
/** Complete rows that are read before other work gets a turn. */
const callsATurn = 64;
const entriesATurn = 256;
const fewEntries = 16;
const documentsATurn = 1024;
const digestsATurn = 64;
/** Comes after every id. */
const afterAll = "\u{10ffff}";
/** Images are megabytes, so only bodies of four characters are read here. */
const isNull = "iif(octet_length(body) = 4, body = 'null', 0)";

type Values = readonly (SQLInputValue | undefined)[];
type SqlCondition = readonly [sql: string, ...values: Values];

/** Lists and the log. A long one is read in turns, so that other work goes on. */
export class Queries {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  lastSeq(): number {
    const [last] = Object.values(this.#database.prepare("select max(seq) from event").get() ?? {});
    return typeof last === "number" ? last : -1;
  }

  /** Newest first. */
  async calls(where: CallFilter, now: number): Promise<readonly CallRecord[]> {
    const { state, tool, tenant, runId, parentId, before = afterAll, limit = Infinity } = where;
    const indexed = whole([
      ["parent = ?", parentId],
      ["run = ?", runId],
    ]);
    const others = whole([
      ["tool = ?", tool],
      ["tenant = ?", tenant],
      [`iif(state = 'held' and alive_until <= ${now}, 'denied', state) = ?`, state],
    ]);
    const lowest = this.#database.prepare(
      `select id from call where id < ? and ${indexed.sql} order by id desc limit 1 offset ${rowsATurn}`,
    );
    const list = this.#database.prepare(
      `select * from call where id < ? and id >= ? and ${indexed.sql} and ${others.sql} order by id desc limit ?`,
    );
    const found: CallRecord[] = [];
    for (let below = before; below !== "" && found.length < limit; ) {
      const floor = String(lowest.get(below, ...indexed.values)?.["id"] ?? "");
      const most = Math.min(limit - found.length, callsATurn);
      const rows = list.all(below, floor, ...indexed.values, ...others.values, most);
      found.push(...rows.map(callOf));
      below = rows.length < most ? floor : String(rows.at(-1)?.["id"]);
      if (below !== "") await turn();
    }
    return found;
  }

  /** Pending requests come by urgency, with the older one of two equal ones first; decided ones newest first; all others oldest first. */
  approvals(where: AudienceFilter, now: number): readonly ApprovalRecord[] {
    const { state, after, risk, audiences, limit = Infinity } = where;
    const place = after === undefined ? {} : this.#placeOf(after);
    if (place === undefined) return [];
    const { urgency, number } = place;
    const isUrgent = state === "pending";
    const isNewFirst = state === "decided";
    const order = isUrgent ? "urgency, number" : isNewFirst ? "number desc" : "number";
    const { sql, values } = whole([
      stateCondition(state, now),
      isUrgent ? ["(urgency, number) > (?, ?)", urgency, number] : [`number ${isNewFirst ? "<" : ">"} ?`, number],
      ["risk = ?", risk],
      ["audience in (select value from json_each(?))", audiences && JSON.stringify(audiences)],
      ...conditionsOf(where),
    ]);
    const most = Number.isFinite(limit) ? limit : -1;
    // Otherwise SQLite takes the index by state, and sorts all that is pending for each page.
    const index = isUrgent ? "indexed by approval_pending" : "";
    return this.#database
      .prepare(`select body from approval ${index} where ${sql} order by ${order} limit ?`)
      .all(...values, most)
      .map(approvalOf);
  }

  audiences(where: WaitingFilter, now: number): readonly WaitingAudience[] {
    const { sql, values } = whole(conditionsOf(where));
    return this.#database
      .prepare(
        `select key, waiting, body from approval join (
           select audience as key, sum(${endOfUrgency} > ?) as waiting, min(number) as first from approval
             where state = 'pending' and ${sql} group by audience
         ) on number = first`,
      )
      .all(now, ...values)
      .map((row) => ({ key: String(row["key"]), waiting: Number(row["waiting"]), audience: approvalOf(row) }));
  }

  /** Which of these artifacts a row needs. */
  async needed(digests: readonly string[], now: number): Promise<ReadonlySet<string>> {
    const needed = this.#edited(now);
    const referring = this.#database.prepare(
      "select call.* from call join call_artifact using (id) where digest = ? order by id desc",
    );
    for (const [i, digest] of digests.entries()) {
      if (i % digestsATurn === digestsATurn - 1) await turn();
      for (const row of referring.iterate(digest)) {
        if (!callNeedsArtifacts(callOf(row), now)) continue;
        needed.add(digest);
        break;
      }
    }
    return needed;
  }

  async *entries({ after, limit = Infinity, fresh = false }: EntryFilter): AsyncGenerator<StoreEntry, void> {
    if (fresh) this.#database.exec("pragma shrink_memory"); // SQLite then reads the pages from the file again
    const list = this.#database.prepare("select seq, body from event where seq > ? order by seq limit ?");
    let left = limit;
    let most = fewEntries;
    for (let from = after; left > 0; ) {
      const wanted = Math.min(left, most);
      const rows = list.all(from, wanted);
      for (const { seq, body } of rows) yield { seq: Number(seq), body: String(body) };
      if (rows.length < wanted) return;
      left -= rows.length;
      from = Number(rows.at(-1)?.["seq"]);
      most = entriesATurn;
      await turn();
    }
  }

  async documents(kind: string, prefix: string): Promise<readonly string[]> {
    const ids: string[] = [];
    let from = prefix;
    for (let next = ">="; ; next = ">") {
      const statement = this.#database.prepare(
        `select id, ${isNull} as is_null from document where kind = ? and id ${next} ? order by id limit ${documentsATurn}`,
      );
      const some = statement.all(kind, from).map(({ id, is_null }) => ({ id: String(id), isNull: is_null === 1 }));
      const mine = some.filter(({ id }) => id.startsWith(prefix)); // ids with one prefix stand together
      for (const { id, isNull } of mine) if (!isNull) ids.push(id);
      from = some.at(-1)?.id ?? "";
      if (mine.length < documentsATurn) return ids.sort();
      await turn();
    }
  }

  #edited(now: number): Set<string> {
    const edited = this.#database
      .prepare(`select body from approval where state in ('pending', 'approved') and body like '%artifact":"%'`)
      .all()
      .map(({ body }) => String(body))
      .filter((body) => requestNeedsArtifacts(JSON.parse(body), now));
    return new Set(edited.flatMap(artifactDigestsIn));
  }

  #placeOf(cursor: string): { readonly urgency?: SQLInputValue; readonly number?: SQLInputValue } | undefined {
    const named = placeOfCursor(cursor);
    const found = named && this.#database.prepare("select urgency, number from approval where id = ?").get(named.id);
    return found && { ...found, ...(named.urgency !== undefined && { urgency: named.urgency }) };
  }
}

function conditionsOf({ tenant, tool, agent, runId, principal }: WaitingFilter): readonly SqlCondition[] {
  return [
    ["tenant = ?", tenant],
    ["tool = ?", tool],
    ["agent = ?", agent],
    ["run = ?", runId],
    ["tenant = ?", principal?.tenant],
    ["agent = ?", principal?.agent],
    ["user is ?", principal && (principal.user ?? null)],
  ];
}

/** As `requestStateAt` of urgency.ts. */
function stateCondition(state: ApprovalFilter["state"], now: number): SqlCondition {
  switch (state) {
    case "pending":
      return ["state = 'pending'"]; // with a parameter, SQLite does not use the index of what is pending
    case "approved":
      return [`state = 'approved' and ${endOfUrgency} > ?`, now];
    case "expired":
      return [`(state = 'expired' or (state in ('pending', 'approved') and ${endOfUrgency} <= ?))`, now];
    case "decided":
      return [`(state <> 'pending' or ${endOfUrgency} <= ?)`, now];
    default:
      return ["state = ?", state];
  }
}

/** Joins the conditions whose values are present. */
function whole(conditions: readonly SqlCondition[]): {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
} {
  const wanted = conditions.filter(([, ...values]) => !values.includes(undefined));
  return {
    sql: wanted.map(([sql]) => sql).join(" and ") || "1",
    values: wanted.flatMap(([, ...values]) => values).filter((value) => value !== undefined),
  };
}

function callOf(row: Readonly<Record<string, unknown>>): CallRecord {
  return recordOf(row as unknown as CallRow); // the columns are those of schema.ts
}

function approvalOf(row: Readonly<Record<string, unknown>>): ApprovalRecord {
  return deepFrozen(JSON.parse(String(row["body"])));
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
