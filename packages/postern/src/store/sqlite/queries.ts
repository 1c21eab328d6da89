import type { DatabaseSync } from "node:sqlite";
import { type ApprovalRecord, type CallRecord, deepFrozen, leastCallIdAt, type Risk } from "@postern/core";
import { callsIn } from "../lists.ts";
import { artifactDigestsIn, callNeedsArtifacts, requestNeedsArtifacts } from "../references.ts";
import { callText, mayMention, mentions, requestText, wordsOf } from "../search-text.ts";
import type { ApprovalFilter, AudienceFilter, CallFilter, EntryFilter, StoreEntry } from "../store.ts";
import { type FoundPlace, partOf, placeOf, placeOfCursor, soonUntilOf } from "../urgency.ts";
import { conditionsOf, type SqlCondition, whole, wordConditions } from "./conditions.ts";
import { type CallRow, recordOf } from "./rows.ts";

/** Rows that are read before other work gets a turn. */
const rowsATurn = 2048;
/** Complete rows that are read before other work gets a turn. */
const callsATurn = 64;
const entriesATurn = 256;
const fewEntries = 16;
const documentsATurn = 1024;
const digestsATurn = 64;
/** So many waiting requests of a run are sorted for a page. */
const mostSorted = 2_000;
/** Comes after every id. */
const afterAll = "\u{10ffff}";
/** Images are megabytes, so only bodies of four characters are read here. */
const isNull = "iif(octet_length(body) = 4, body = 'null', 0)";

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
    const { state, tool, tenant, runId, parentId, search, since, before = afterAll, limit = Infinity, keys } = where;
    const least = since === undefined ? "" : leastCallIdAt(since);
    if (keys !== undefined) {
      const named = `with wanted as (select value from json_each(?)) select * from call where key in wanted
        union all select * from call where id in wanted and key is null`; // the key is the id
      return callsIn(this.#database.prepare(named).all(JSON.stringify(keys)).map(callOf), where, now);
    }
    const words = search === undefined ? undefined : wordsOf(search);
    const indexed = whole([
      ["parent = ?", parentId],
      ["run = ?", runId],
    ]);
    const others = whole([
      ["tool = ?", tool],
      ["tenant = ?", tenant],
      [`iif(state = 'held' and alive_until <= ${now}, 'denied', state) = ?`, state],
      ...(words === undefined ? [] : wordConditions(words, ["arguments", "tool", "run", "id", "body"])),
    ]);
    const lowest = this.#database.prepare(
      `select id from call where id < ? and ${indexed.sql} order by id desc limit 1 offset ${rowsATurn}`,
    );
    const list = this.#database.prepare(
      `select * from call where id < ? and id >= ? and ${indexed.sql} and ${others.sql} order by id desc limit ?`,
    );
    const found: CallRecord[] = [];
    for (let below = before; below > least && found.length < limit; ) {
      const lowestHere = String(lowest.get(below, ...indexed.values)?.["id"] ?? "");
      const floor = lowestHere > least ? lowestHere : least;
      const most = Math.min(limit - found.length, callsATurn);
      const rows = list.all(below, floor, ...indexed.values, ...others.values, most);
      found.push(...(words === undefined ? rows : rows.filter((row) => mentionsCall(row, words))).map(callOf));
      below = rows.length < most ? floor : String(rows.at(-1)?.["id"]);
      if (below > least) await turn();
    }
    return found;
  }

  /** Pending requests in the order of urgency.ts, from two indexes; decided ones newest first; all others oldest first. */
  async approvals(where: AudienceFilter, now: number): Promise<readonly ApprovalRecord[]> {
    const { state, after, limit = Infinity } = where;
    const place = after === undefined ? undefined : this.#placeOf(after);
    if (after !== undefined && place === undefined) return [];
    if (state !== "pending") {
      const conditions = [stateCondition(state, now), ...requestConditions(where)];
      const list = { index: "", key: ["number"], isDescending: state === "decided", conditions };
      return this.#requests(list, place && [place.number], where);
    }
    const { soonUntil = soonUntilOf(after, now) } = where;
    const part = place && (place.part ?? partOf(place, soonUntil));
    const isSoon = part === undefined || part === "soon";
    // With a parameter, SQLite does not use an index of what is pending.
    const pending: readonly SqlCondition[] = [["state = 'pending'"], ...requestConditions(where)];
    const soon: RequestList = {
      index: "approval_ends",
      key: ["ends", "number"],
      conditions: [["ends <= ?", soonUntil], ...pending],
    };
    const found = isSoon ? await this.#requests(soon, place && [place.expiresAt, place.number], where) : [];
    if (found.length >= limit) return found;
    const from = place === undefined || isSoon ? undefined : [placeOf(part, place.number)];
    const later: RequestList = {
      index: this.#indexFor(where),
      key: ["place"],
      conditions: [["ends > ?", soonUntil], ...pending],
    };
    return [...found, ...(await this.#requests(later, from, { ...where, limit: limit - found.length }))];
  }

  /** A run with few waiting requests is sorted: its requests may stand far apart in the order of all. */
  #indexFor({ runId }: AudienceFilter): string {
    if (runId === undefined) return "approval_place";
    const counted = this.#database.prepare("select sum(count) as count from waiting where run = ?").get(runId);
    return Number(counted?.["count"] ?? 0) <= mostSorted ? "approval_group" : "approval_place";
  }

  /** With words, the list is read in turns until enough is found. */
  async #requests(
    { index, key, isDescending = false, conditions }: RequestList,
    after: readonly number[] | undefined,
    { limit = Infinity, search }: AudienceFilter,
  ): Promise<readonly ApprovalRecord[]> {
    const columns = `(${key.join(", ")})`;
    const marks = `(${key.map(() => "?").join(", ")})`;
    const [beyond, upTo, direction] = isDescending ? ["<", ">=", "desc"] : [">", "<=", "asc"];
    const order = key.map((column) => `${column} ${direction}`).join(", ");
    const { sql, values } = whole(conditions);
    const from = `from approval ${index && `indexed by ${index}`} where ${sql}`;
    const behind = after === undefined ? "" : ` and ${columns} ${beyond} ${marks}`;
    const most = Number.isFinite(limit) ? limit : -1;
    if (search === undefined)
      return this.#database
        .prepare(`select body ${from}${behind} order by ${order} limit ?`)
        .all(...values, ...(after ?? []), most)
        .map(approvalOf);
    const words = wordsOf(search);
    const found: ApprovalRecord[] = [];
    const likely = whole(wordConditions(words, ["body"]));
    const start = isDescending ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER;
    const last = this.#database.prepare(
      `select ${key.join(", ")} ${from} and ${columns} ${beyond} ${marks} order by ${order} limit 1 offset ${rowsATurn}`,
    );
    const some = this.#database.prepare(
      `select body ${from} and ${columns} ${beyond} ${marks} and ${columns} ${upTo} ${marks} and ${likely.sql} order by ${order}`,
    );
    for (let place = after ?? key.map(() => start); found.length < limit; ) {
      const row = last.get(...values, ...place);
      const end = key.map((column) => Number(row?.[column] ?? -start));
      for (const { body } of some.iterate(...values, ...place, ...end, ...likely.values)) {
        if (!mayMention(String(body), words)) continue;
        const approval = approvalOf({ body });
        if (mentions(requestText(approval), words)) found.push(approval);
        if (found.length >= limit) break;
      }
      if (row === undefined) break;
      place = end;
      await turn();
    }
    return found;
  }

  /** The size of the file, and how much of it is free. */
  bytes(): { readonly database: number; readonly free: number } {
    const [pages, free, size] = ["page_count", "freelist_count", "page_size"].map((name) =>
      Number(this.#database.prepare(`pragma ${name}`).get()?.[name] ?? 0),
    );
    return { database: (pages ?? 0) * (size ?? 0), free: (free ?? 0) * (size ?? 0) };
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

  #placeOf(cursor: string): FoundPlace | undefined {
    const named = placeOfCursor(cursor);
    const row = named && this.#database.prepare("select number, risk, ends from approval where id = ?").get(named.id);
    if (row === undefined) return undefined;
    const risk = String(row["risk"]) as Risk; // as it was written
    return { part: named?.part, risk, number: Number(row["number"]), expiresAt: Number(row["ends"]) };
  }
}

interface RequestList {
  /** Empty: SQLite chooses. */
  readonly index: string;
  /** The columns of the order. */
  readonly key: readonly string[];
  readonly isDescending?: boolean;
  readonly conditions: readonly SqlCondition[];
}

function requestConditions(where: AudienceFilter): readonly SqlCondition[] {
  const { audiences } = where;
  const inAudience = "audience in (select value from json_each(?))";
  return [[inAudience, audiences && JSON.stringify(audiences)], ...conditionsOf(where)];
}

/** As `requestStateAt` of urgency.ts. */
function stateCondition(state: ApprovalFilter["state"], now: number): SqlCondition {
  switch (state) {
    case "approved":
      return ["state = 'approved' and ends > ?", now];
    case "expired":
      return ["(state = 'expired' or (state in ('pending', 'approved') and ends <= ?))", now];
    case "decided":
      return ["(state <> 'pending' or ends <= ?)", now];
    default:
      return ["state = ?", state];
  }
}

/** The cheap check first: reading a row takes longer. */
function mentionsCall(row: Readonly<Record<string, unknown>>, words: readonly string[]): boolean {
  const json = [row["id"], row["tool"], row["run"], row["arguments"], row["body"]].join("\n");
  return mayMention(json, words) && mentions(callText(callOf(row).call), words);
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
