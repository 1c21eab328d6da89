import type { ApprovalRecord, CallRecord } from "@postern/core";
import {
  type ErasingBefore,
  erasableSince,
  erasedEntry,
  erasureOfCall,
  type FindCall,
  mayEraseRequest,
} from "../erasing.ts";
import { artifactDigestsIn } from "../references.ts";
import { leftUnknownBy } from "../rules.ts";
import { bodyOf } from "../sqlite/rows.ts";
import type { StoredKind, StoredSize, StoreUpkeep } from "../store.ts";
import type { RunQuery } from "./read-known.ts";
import { parsed, type StoredCallRow, type VersionedRow, versioned } from "./rows.ts";
import { toStored } from "./text.ts";

export interface PostgresUpkeepOptions {
  readonly run: RunQuery;
  readonly now: () => number;
  /** Resolves when what waits was written. */
  readonly caughtUp: () => Promise<void>;
}

/** Rows, or entries, that are erased in one transaction: calls wait for it, or for its part of the disk. */
const rowsATurn = 100;
/** Entries that are read in one statement. */
const entriesATurn = 500;
/** A row that changes all the time stays until the next sweep. */
const mostTries = 10;

const tables: Readonly<Record<StoredKind, string>> = {
  calls: "call",
  approvals: "approval",
  events: "event",
  documents: "document",
};

/** What a rule looks at of a call. Arguments and outcome may be large. */
const judgedColumns = `key, id, left_by, match, live_until, fence, state, tool, tenant, run, parent, alive_until, body, version,
  '{}' as arguments, null as outcome`;
/** The texts in which artifacts are named. */
const withArtifacts = `case when arguments like '%artifact":"%' or outcome like '%artifact":"%'
  then concat(arguments, outcome) else '' end as texts`;

/** A row, what the rule says of it, and the versions of the calls that the rule looked up: 0 for one that is missing. */
interface Judged<Row, Verdict> {
  readonly row: Row;
  readonly verdict: Verdict;
  readonly found: Versions;
}

type Versions = readonly (readonly [key: string, version: number])[];

/** What `postern_erase_3` erases, if no row that was looked at has changed. Texts are as stored. */
interface Erasing {
  readonly requests?: readonly Pick<RequestRow, "id" | "version">[];
  readonly removed?: readonly string[];
  readonly emptied?: readonly { readonly key: string; readonly body: string }[];
  readonly released?: readonly { readonly digest: string; readonly id: string }[];
}

interface Turn {
  readonly erased: number;
  /** The place of its last row; undefined if there are no more. */
  readonly last: string | undefined;
}

interface JudgedTurn extends Pick<Turn, "last"> {
  readonly erased: readonly Pick<Judged<unknown, unknown>, "found">[];
  /** Of the rows that are erased. */
  readonly versions: Versions;
  readonly erasing: Erasing;
}

interface ReadCallRow extends StoredCallRow {
  readonly texts: string;
}

interface RequestRow {
  readonly number: string;
  readonly id: string;
  readonly version: string;
  readonly body: string;
}

/** Sizes and erasing, in short transactions beside the calls of all processes. */
export class PostgresUpkeep implements StoreUpkeep {
  readonly #options: PostgresUpkeepOptions;

  constructor(options: PostgresUpkeepOptions) {
    this.#options = options;
  }

  /** The server counts files, and reads no row. */
  async sizes(): Promise<readonly StoredSize[]> {
    const text = `select c.relname as name, pg_total_relation_size(c.oid) as bytes,
        case when n_live_tup > 0 then n_live_tup else greatest(reltuples, 0)::bigint end as rows
      from pg_class c join pg_stat_user_tables s on s.relid = c.oid where c.relnamespace = current_schema()::regnamespace`;
    const rows = await this.#options.run<{ name: string; rows: string; bytes: string }>({ name: "sizes", text });
    const found = new Map(rows.map((row) => [row.name, row]));
    return Object.entries(tables).map(([kind, table]) => {
      const { rows = 0, bytes = 0 } = found.get(table) ?? {};
      return { kind: kind as StoredKind, rows: Number(rows), bytes: Number(bytes) }; // a key of `tables`
    });
  }

  async *erase(kind: "calls" | "approvals", where: ErasingBefore): AsyncGenerator<number> {
    await this.#options.caughtUp();
    for (let after: string | undefined = kind === "calls" ? "" : "0"; after !== undefined; ) {
      const turn: Turn = await (kind === "calls" ? this.#eraseCalls(where, after) : this.#eraseRequests(where, after));
      yield turn.erased;
      after = turn.last;
    }
  }

  async *erasable(before: number): AsyncGenerator<readonly number[]> {
    const { run, now, caughtUp } = this.#options;
    await caughtUp();
    const [head] = await run<{ seq: string }>({ text: "select seq from head" });
    const text = "select seq, body from event where seq >= $1 and seq < $2 and body like '{%' order by seq";
    for (let from = 0; from < Number(head?.seq); from += entriesATurn) {
      const rows = await run<{ seq: string; body: string }>({ text, values: [from, from + entriesATurn] });
      const judged = await this.#judge(rows, ({ body }, find) => erasableSince(body, find, now()));
      const about = judged.filter(({ verdict }) => verdict !== undefined);
      const young = about.findIndex(({ verdict = 0 }) => verdict >= before);
      const places = (young === -1 ? about : about.slice(0, young)).map(({ row }) => Number(row.seq));
      yield places;
      if (young !== -1) return; // later ones are younger
    }
  }

  async eraseEntries(places: readonly number[]): Promise<void> {
    const { run } = this.#options;
    const read = "select seq, body from event where seq = any($1)";
    const write =
      "update event e set body = x.body from unnest($1::bigint[], $2::text[]) as x(seq, body) where e.seq = x.seq";
    for (let from = 0; from < places.length; from += rowsATurn) {
      const values = [places.slice(from, from + rowsATurn)];
      const rows = await run<{ seq: string; body: string }>({ text: read, values });
      await run({ text: write, values: [rows.map(({ seq }) => seq), rows.map(({ body }) => erasedEntry(body))] });
    }
  }

  async #eraseCalls(where: ErasingBefore, after: string): Promise<Turn> {
    // The last row comes too, whatever it is: it says where to go on.
    const text = `select ${judgedColumns}, ${withArtifacts} from (
        select *, max(id) over () as last from (select * from call where id > $1 order by id limit ${rowsATurn}) as page
      ) as turn where id = last or (state in ('ok', 'failed', 'denied', 'held') and body not like '%"erasedAt":%') order by id`;
    return await this.#turn(async () => {
      const rows = await this.#options.run<ReadCallRow>({ text, values: [after] });
      const calls = rows.map((stored) => ({ stored, ...versioned(stored) }));
      const judged = await this.#judge(calls, ({ row }, find) => erasureOfCall(row, where, find));
      const erased = judged.filter(({ verdict }) => verdict !== "keep");
      const keyed = erased.filter(({ verdict }) => verdict === "body");
      const last = calls.at(-1);
      const isYoung = last === undefined || last.row.call.arrivedAt >= where.before; // later ones are younger
      return {
        last: isYoung ? undefined : last.stored.id,
        erased,
        versions: erased.map(({ row: { row, version } }) => [row.key, version] as const),
        erasing: {
          removed: erased.filter(({ verdict }) => verdict === "row").map(({ row: { stored } }) => stored.key),
          emptied: keyed.map(({ row: { stored, row } }) => ({
            key: stored.key,
            body: bodyOf({ ...row, erasedAt: where.now }),
          })),
          released: erased.flatMap(({ row: { stored } }) =>
            artifactDigestsIn(stored.texts).map((digest) => ({ digest, id: stored.id })),
          ),
        },
      };
    });
  }

  async #eraseRequests(where: ErasingBefore, after: string): Promise<Turn> {
    const text = `select number, id, version, body from approval where number > $1 order by number limit ${rowsATurn}`;
    return await this.#turn(async () => {
      const rows = await this.#options.run<RequestRow>({ text, values: [after] });
      const requests = rows.map((stored) => ({ stored, request: parsed<ApprovalRecord>(stored.body) }));
      const judged = await this.#judge(requests, ({ request }, find) => mayEraseRequest(request, where, find));
      const erased = judged.filter(({ verdict }) => verdict);
      const last = requests.at(-1);
      const isYoung = last === undefined || last.request.requestedAt >= where.before; // later ones are younger
      return {
        last: isYoung ? undefined : last.stored.number,
        erased,
        versions: [],
        erasing: { requests: erased.map(({ row: { stored } }) => ({ id: stored.id, version: stored.version })) },
      };
    });
  }

  /** Judges rows and erases them. If one has changed since it was read, all are read and judged again. */
  async #turn(judge: () => Promise<JudgedTurn>): Promise<Turn> {
    for (let tries = 0; ; tries += 1) {
      const { last, erased, versions, erasing } = await judge();
      if (erased.length === 0 || tries === mostTries) return { last, erased: 0 };
      const seen = [...versions, ...erased.flatMap(({ found }) => found)];
      if (await this.#erase(erasing, seen)) return { last, erased: erased.length };
    }
  }

  async #erase(
    { requests = [], removed = [], emptied = [], released = [] }: Erasing,
    seen: Versions,
  ): Promise<boolean> {
    const rows = seen.map(([key, version]) => ({ key: toStored(key), version }));
    const text = "select postern_erase_3($1, $2, $3, $4, $5) as done";
    const values = [rows, requests, removed, emptied, released].map((list) => JSON.stringify(list));
    const [answer] = await this.#options.run<{ done: boolean }>({ name: "erase", text, values });
    return answer?.done === true;
  }

  /** Judges each row. The calls that the rule looks up are read, and it is asked again. */
  async #judge<Row, Verdict>(
    rows: readonly Row[],
    rule: (row: Row, find: FindCall) => Verdict,
  ): Promise<readonly Judged<Row, Verdict>[]> {
    const known = new Map<string, VersionedRow<CallRecord> | undefined>();
    for (;;) {
      const missing = new Set<string>();
      const judged = rows.map((row) => {
        const found: [string, number][] = [];
        const find: FindCall = (name) => {
          if (!known.has(name)) missing.add(name);
          const call = known.get(name);
          found.push([call?.row.key ?? name, call?.version ?? 0]);
          return call?.row;
        };
        return { row, verdict: rule(row, find), found };
      });
      if (missing.size === 0) return judged;
      for (const name of missing) known.set(name, undefined);
      await this.#read([...missing], known);
    }
  }

  /** By key, by the id of the first arrival, or by the id of the arrival that left it unknown: the key counts most. */
  async #read(names: readonly string[], into: Map<string, VersionedRow<CallRecord> | undefined>): Promise<void> {
    const text = `select ${judgedColumns} from call where key = any($1) or id = any($1) or left_by = any($1)`;
    const rows = await this.#options.run<StoredCallRow>({ text, values: [names.map(toStored)] });
    const calls = rows.map(versioned);
    const nameOf = [leftUnknownBy, ({ call }: CallRecord) => call.id, ({ key }: CallRecord) => key];
    for (const name of nameOf)
      for (const call of calls) {
        const named = name(call.row);
        if (named !== undefined && into.has(named)) into.set(named, call);
      }
  }
}
