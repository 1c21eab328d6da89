import {
  type ApprovalRecord,
  approvalStates,
  type CallRecord,
  type Json,
  leastCallIdAt,
  type Risk,
} from "@postern/core";
import { answeringRow, type EqualCall } from "../equal-calls.ts";
import { compareGroups, noRequests } from "../lists.ts";
import { artifactDigestsIn, callNeedsArtifacts, requestNeedsArtifacts } from "../references.ts";
import { leftUnknownBy } from "../rules.ts";
import { callText, likePatterns, mayMention, mentions, requestText, wordsOf } from "../search-text.ts";
import { type CountedAs, type CountedCalls, periodMs, type StatisticsFilter } from "../statistics.ts";
import type {
  ApprovalFilter,
  AudienceFilter,
  CallFilter,
  EntryFilter,
  GroupFilter,
  RequestCounts,
  SharedMember,
  StoreEntry,
  WaitingAudience,
  WaitingFilter,
  WaitingGroup,
} from "../store.ts";
import { type FoundPlace, partOf, placeOf, placeOfCursor, soonUntilOf } from "../urgency.ts";
import { type RunQuery, readApprovals } from "./read-known.ts";
import { parsed, recordOf, type StoredCallRow } from "./rows.ts";
import { fromStored, toStored } from "./text.ts";

/** Rows that one statement reads, so that none takes long and none needs much memory. */
const rowsATime = 500;
const digestsATime = 500;

type PostgresCondition = readonly [sql: string, ...values: readonly unknown[]];

interface BodyRow {
  readonly body: string;
}

/** Single rows, lists and the log. */
export class PostgresQueries {
  readonly #run: RunQuery;

  constructor(run: RunQuery) {
    this.#run = run;
  }

  /** By its key, by the id of its first arrival, or by the id of the arrival that left it unknown. */
  async call(name: string): Promise<CallRecord | undefined> {
    const text = "select * from call where key = $1 or id = $1 or left_by = $1";
    const rows = await this.#run<StoredCallRow>({ name: "call", text, values: [toStored(name)] });
    const records = rows.map(recordOf);
    return (
      records.find(({ key }) => key === name) ??
      records.find(({ call }) => call.id === name) ??
      records.find((record) => leftUnknownBy(record) === name)
    );
  }

  async answering(call: EqualCall, now: number): Promise<CallRecord | undefined> {
    const text = "select * from call where match = $1 and live_until > $2 order by id";
    const rows = await this.#run<StoredCallRow>({ name: "answering calls", text, values: [toStored(call.match), now] });
    const records = rows.map(recordOf);
    const asked = await this.#approvals(records.flatMap(({ approvalId }) => approvalId ?? []));
    return answeringRow(call, records, { now, approval: (id) => asked.get(id) });
  }

  async approval(id: string): Promise<ApprovalRecord | undefined> {
    return (await this.#approvals([id])).get(id);
  }

  /** Newest first. */
  async calls(where: CallFilter, now: number): Promise<readonly CallRecord[]> {
    const { keys, state, tool, tenant, runId, parentId, search, since, limit = Infinity } = where;
    const words = search === undefined ? undefined : wordsOf(search);
    const found: CallRecord[] = [];
    for (let { before } = where; found.length < limit; ) {
      const most = Math.min(limit - found.length, rowsATime);
      const { sql, values } = whole([
        ["id < ?", stored(before)],
        ["id >= ?", since === undefined ? undefined : leastCallIdAt(since)],
        ["key = any(?)", keys?.map(toStored)],
        ["parent = ?", stored(parentId)],
        ["run = ?", stored(runId)],
        ["tool = ?", stored(tool)],
        ["tenant = ?", stored(tenant)],
        [`case when state = 'held' and alive_until <= ${now} then 'denied' else state end = ?`, state],
        ...wordConditions(words, ["arguments", "tool", "run", "id", "body"]),
      ]);
      const text = `select * from call where ${sql} order by id desc limit ${most}`;
      const rows = await this.#run<StoredCallRow>({ text, values });
      const records = rows.map(recordOf);
      found.push(...records.filter(({ call }) => words === undefined || mentions(callText(call), words)));
      if (rows.length < most) break;
      before = records.at(-1)?.call.id;
    }
    return found;
  }

  /** Pending requests in the order of urgency.ts, from two indexes; decided ones newest first; all others oldest first. */
  async approvals(where: AudienceFilter, now: number): Promise<readonly ApprovalRecord[]> {
    const { state, after, limit = Infinity } = where;
    const place = after === undefined ? undefined : await this.#placeOf(after);
    if (after !== undefined && place === undefined) return [];
    if (state !== "pending") {
      const conditions = [stateCondition(state, now), ...requestConditions(where)];
      return this.#requests(
        { key: ["number"], isDescending: state === "decided", conditions },
        place && [place.number],
        where,
      );
    }
    const { soonUntil = soonUntilOf(after, now) } = where;
    const part = place && (place.part ?? partOf(place, soonUntil));
    const isSoon = part === undefined || part === "soon";
    // Not a parameter: the indexes of what is pending have this condition.
    const pending: readonly PostgresCondition[] = [["state = 'pending'"], ...requestConditions(where)];
    const soon: RequestQuery = { key: ["ends", "number"], conditions: [["ends <= ?", soonUntil], ...pending] };
    const found = isSoon ? await this.#requests(soon, place && [place.expiresAt, place.number], where) : [];
    if (found.length >= limit) return found;
    const from = place === undefined || isSoon ? undefined : [placeOf(part, place.number)];
    const later: RequestQuery = { key: ["place"], conditions: [["ends > ?", soonUntil], ...pending] };
    return [...found, ...(await this.#requests(later, from, { ...where, limit: limit - found.length }))];
  }

  async #requests(
    { key, isDescending = false, conditions }: RequestQuery,
    after: readonly number[] | undefined,
    { limit = Infinity, search }: AudienceFilter,
  ): Promise<readonly ApprovalRecord[]> {
    const words = search === undefined ? undefined : wordsOf(search);
    const columns = key.join(", ");
    const beyond = `(${columns}) ${isDescending ? "<" : ">"} (${key.map(() => "?").join(", ")})`;
    const order = key.map((column) => `${column} ${isDescending ? "desc" : "asc"}`).join(", ");
    const found: ApprovalRecord[] = [];
    for (let place = after; found.length < limit; ) {
      const most = Math.min(limit - found.length, rowsATime);
      const { sql, values } = whole([
        [beyond, ...(place ?? [undefined])],
        ...conditions,
        ...wordConditions(words, ["body"]),
      ]);
      const text = `select ${columns}, body from approval where ${sql} order by ${order} limit ${most}`;
      const rows = await this.#run<BodyRow & Readonly<Record<string, string>>>({ text, values });
      for (const { body } of rows) {
        if (words !== undefined && !mayMention(body, words)) continue;
        const approval: ApprovalRecord = parsed(body);
        if (words === undefined || mentions(requestText(approval), words)) found.push(approval);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < most) break;
      place = key.map((column) => Number(last[column]));
    }
    return found;
  }

  async audiences(where: WaitingFilter, now: number): Promise<readonly WaitingAudience[]> {
    const { sql, values } = whole(conditionsOf(where));
    const text = `select key, waiting, body from approval join (
        select audience as key, sum(count - coalesce(over, 0)) as waiting, min(first) as number
          from waiting left join ${expired(now)} using (run, audience) where ${sql} group by audience
      ) as grouped using (number)`;
    const rows = await this.#run<BodyRow & { key: string; waiting: string }>({ text, values });
    return rows.map(({ key, waiting, body }) => ({ key, waiting: Number(waiting), audience: parsed(body) }));
  }

  async groups(where: GroupFilter, now: number): Promise<readonly WaitingGroup[]> {
    const { by, limit = Infinity, audiences } = where;
    const { sql, values } = whole([["audience = any(?)", audiences], ...conditionsOf(where)]);
    const keys = by.map((member) => groupColumns[member]);
    const sums = ["sum(count - coalesce(over, 0)) as waiting", "min(first) as first", "max(last) as last"];
    const text = `select grouped.*, a.body::json ->> 'requestedAt' as oldest, b.body::json ->> 'requestedAt' as newest
      from (select ${[...keys, ...sums].join(", ")} from waiting left join ${expired(now)} using (run, audience)
        where ${sql} ${keys.length === 0 ? "" : `group by ${keys.join(", ")}`}) as grouped
      join approval a on a.number = first join approval b on b.number = last
      where waiting > 0 order by ${["waiting desc", ...keys.map((column) => `grouped.${column}`)].join(", ")}
      ${Number.isFinite(limit) ? `limit ${Math.max(0, Math.floor(limit))}` : ""}`;
    const rows = await this.#run<Readonly<Record<string, string>>>({ text, values });
    return rows
      .map(
        (row): WaitingGroup => ({
          ...Object.fromEntries(by.map((member) => [member, fromStored(row[groupColumns[member]] ?? "")])),
          ...{ waiting: Number(row["waiting"]), oldestAt: Number(row["oldest"]), newestAt: Number(row["newest"]) },
        }),
      )
      .sort((a, b) => compareGroups(a, b, by));
  }

  async counts({ tenant }: Pick<ApprovalFilter, "tenant">, now: number): Promise<RequestCounts> {
    const { sql, values } = whole([["tenant = ?", stored(tenant)]]);
    const late = (state: string): string =>
      `select 'late ' || '${state}' as name, count(*) as n from approval where state = '${state}' and ends <= ${now} and ${sql}`;
    const text = `select state as name, sum(count) as n from request_count where ${sql} group by state
      union all ${late("pending")} union all ${late("approved")}
      union all select 'unknown calls', count(*) from call where state = 'unknown' and ${sql}`;
    const rows = await this.#run<{ name: string; n: string }>({ text, values });
    const found = new Map(rows.map(({ name, n }) => [name, Number(n)]));
    const of = (name: string): number => found.get(name) ?? 0;
    const requests = noRequests();
    for (const state of approvalStates) requests[state] = of(state);
    requests.pending -= of("late pending");
    requests.approved -= of("late approved");
    requests.expired += of("late pending") + of("late approved");
    return { requests, unknownCalls: of("unknown calls") };
  }

  async statistics({
    period,
    from,
    until,
    tenant,
    tool,
    agent,
    by,
  }: StatisticsFilter): Promise<readonly CountedCalls[]> {
    const { sql, values } = whole([
      ["minutes = ?", periodMs[period] / periodMs.minute],
      ...([
        ["at >= ?", from],
        ["at < ?", until],
      ] as const),
      ["tenant = ?", stored(tenant)],
      ["tool = ?", stored(tool)],
      ["agent = ?", stored(agent)],
    ]);
    const keys = [...by, "tenant", "counted_as", "code", "step"].join(", ");
    const text = `select ${keys}, sum(count) as count, max(last_at) as last_at from statistic where ${sql} group by ${keys}`;
    const rows = await this.#run<Readonly<Record<string, string | number>>>({ text, values });
    return rows.map((row) => {
      const name = (column: string): string => fromStored(String(row[column] ?? ""));
      const names = { tenant: name("tenant"), tool: name("tool"), action: name("action"), agent: name("agent") };
      const counted = { at: Number(row["at"] ?? 0), step: Number(row["step"]), count: Number(row["count"]) };
      const as = name("counted_as") as CountedAs; // as commit-statement.ts wrote it
      return { ...counted, ...names, as, decider: name("decider"), code: name("code"), lastAt: Number(row["last_at"]) };
    });
  }

  /** Attempted through openings whose lease is over, by the time of the database. */
  async stranded(incarnation: string): Promise<readonly CallRecord[]> {
    const text = `select c.* from call c where fence is not null and fence <> $1 and not exists (
        select from opening o where o.incarnation = c.fence and o.lease_until > clock_timestamp()
      ) order by id`;
    return (await this.#run<StoredCallRow>({ text, values: [toStored(incarnation)] })).map(recordOf);
  }

  /** By table, with its indexes. The server counts files, and reads no row. */
  async bytes(): Promise<Readonly<Record<string, number>>> {
    const text = `select relname as name, pg_total_relation_size(oid) as bytes from pg_class
      where relkind = 'r' and relnamespace = current_schema()::regnamespace`;
    const rows = await this.#run<{ name: string; bytes: string }>({ name: "bytes", text });
    return Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)]));
  }

  /** Which of these artifacts a row needs. */
  async needed(digests: readonly string[], now: number): Promise<ReadonlySet<string>> {
    const open = `select body from approval where state in ('pending', 'approved') and body like '%artifact":"%'`;
    const asked = (await this.#run<BodyRow>({ text: open })).filter(({ body }) =>
      requestNeedsArtifacts(JSON.parse(body), now),
    );
    const needed = new Set(asked.flatMap(({ body }) => artifactDigestsIn(body)));
    const text = "select call.*, digest from call join call_artifact using (id) where digest = any($1)";
    for (let from = 0; from < digests.length; from += digestsATime) {
      const values = [digests.slice(from, from + digestsATime)];
      for (const row of await this.#run<StoredCallRow & { digest: string }>({ text, values }))
        if (callNeedsArtifacts(recordOf(row), now)) needed.add(row.digest);
    }
    return needed;
  }

  async *entries({ after, limit = Infinity }: EntryFilter): AsyncGenerator<StoreEntry, void> {
    const text = "select seq, body from event where seq > $1 order by seq limit $2";
    for (let from = after, left = limit; left > 0; ) {
      const most = Math.min(left, rowsATime);
      const rows = await this.#run<BodyRow & { seq: string }>({ name: "log", text, values: [from, most] });
      for (const { seq, body } of rows) yield { seq: Number(seq), body };
      if (rows.length < most) return;
      left -= rows.length;
      from = Number(rows.at(-1)?.seq);
    }
  }

  async document(kind: string, id: string): Promise<{ readonly version: number; readonly body: Json } | undefined> {
    const text = "select version, body from document where kind = $1 and id = $2";
    const values = [toStored(kind), toStored(id)];
    const [row] = await this.#run<BodyRow & { version: string }>({ name: "document", text, values });
    return row && { version: Number(row.version), body: JSON.parse(row.body) };
  }

  async documents(kind: string, prefix: string): Promise<readonly string[]> {
    const text = "select id from document where kind = $1 and starts_with(id, $2) and body <> 'null'";
    const rows = await this.#run<{ id: string }>({
      name: "documents",
      text,
      values: [toStored(kind), toStored(prefix)],
    });
    return rows.map(({ id }) => fromStored(id)).sort();
  }

  async #approvals(ids: readonly string[]): Promise<ReadonlyMap<string, ApprovalRecord>> {
    return new Map((await readApprovals(ids, this.#run)).map(([id, { row }]) => [id, row]));
  }

  async #placeOf(cursor: string): Promise<FoundPlace | undefined> {
    const named = placeOfCursor(cursor);
    if (named === undefined) return undefined;
    const text = "select number, risk, ends from approval where id = $1";
    const [row] = await this.#run<{ number: string; risk: Risk; ends: string }>({ text, values: [toStored(named.id)] });
    return row && { part: named.part, risk: row.risk, number: Number(row.number), expiresAt: Number(row.ends) };
  }
}

interface RequestQuery {
  /** The columns of the order. */
  readonly key: readonly string[];
  readonly isDescending?: boolean;
  readonly conditions: readonly PostgresCondition[];
}

const groupColumns: Readonly<Record<SharedMember, string>> = {
  risk: "risk",
  tool: "tool",
  runId: "run",
  agent: "agent",
};

/** Expired requests of each group that are pending still: few, because they are ended on time. */
function expired(now: number): string {
  return `(select run, audience, count(*) as over from approval where state = 'pending' and ends <= ${now}
    group by run, audience) as expired`;
}

function requestConditions(where: AudienceFilter): readonly PostgresCondition[] {
  return [["audience = any(?)", where.audiences], ...conditionsOf(where)];
}

/** Each word occurs in one of the columns, or may. */
function wordConditions(
  words: readonly string[] | undefined,
  columns: readonly string[],
): readonly PostgresCondition[] {
  if (words === undefined) return [];
  const either = columns.map((column) => `${column} ilike ? escape '!'`).join(" or ");
  return likePatterns(words).map((pattern) => [`(${either})`, ...columns.map(() => pattern)]);
}

function conditionsOf({ tenant, risk, tool, agent, runId, principal }: WaitingFilter): readonly PostgresCondition[] {
  return [
    ["tenant = ?", stored(tenant)],
    ["risk = ?", risk],
    ["tool = ?", stored(tool)],
    ["agent = ?", stored(agent)],
    ["run = ?", stored(runId)],
    ["tenant = ?", stored(principal?.tenant)],
    ["agent = ?", stored(principal?.agent)],
    [`"user" is not distinct from ?`, principal && (stored(principal.user) ?? null)],
  ];
}

/** As `requestStateAt` of urgency.ts. */
function stateCondition(state: ApprovalFilter["state"], now: number): PostgresCondition {
  switch (state) {
    case "approved":
      return [`state = 'approved' and ends > ?`, now];
    case "expired":
      return [`(state = 'expired' or (state in ('pending', 'approved') and ends <= ?))`, now];
    case "decided":
      return [`(state <> 'pending' or ends <= ?)`, now];
    default:
      return ["state = ?", state];
  }
}

/** Joins the conditions whose values are present, and numbers their parameters. */
function whole(conditions: readonly PostgresCondition[]): {
  readonly sql: string;
  readonly values: readonly unknown[];
} {
  const wanted = conditions.filter(([, ...values]) => !values.includes(undefined));
  let number = 0;
  const numbered = wanted.map(([sql]) =>
    sql.replaceAll("?", () => {
      number += 1;
      return `$${number}`;
    }),
  );
  return { sql: numbered.join(" and ") || "true", values: wanted.flatMap(([, ...values]) => values) };
}

function stored(text: string | undefined): string | undefined {
  return text === undefined ? undefined : toStored(text);
}
