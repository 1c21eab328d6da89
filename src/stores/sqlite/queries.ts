import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import { numberOf } from "../../calls/ids.ts";
import type { CallRecord } from "../../calls/records.ts";
import { digestsIn, mayRunWith, needsArtifacts } from "../references.ts";
import type { CallFilter, Entry, EntryFilter } from "../store.ts";
import { type CallRow, recordOf, selectCalls, stateNumber } from "./encode.ts";
import { entrySeparator } from "./tables.ts";

/** Rows looked at before the event loop has its turn again. */
const rowsATurn = 2048;
/** Of those that are found: each is parsed. */
const callsATurn = 64;
const rowsOfEntriesATurn = 64;
/** A row holds from one entry to hundreds: who wants few begins with few rows. */
const fewRowsOfEntries = 4;
const documentsATurn = 1024;
const digestsATurn = 64;
/** Only a body that short is read for it: images are megabytes. */
const isNull = "iif(octet_length(body) = 4, body = 'null', 0)";

/** `callStateAt` as SQL. */
function callStateAtAs(now: number): string {
  return `iif(state = ${stateNumber("held")} and alive_until <= ${now}, ${stateNumber("denied")}, state)`;
}

/** What start-up needs to know. */
export interface Start {
  readonly lastNumber: number;
  readonly lastSeq: number;
  readonly watermark: number;
  /** Attempted by incarnations that are dead. */
  readonly open: readonly CallRecord[];
  /** Rows that a keyless re-send may find. */
  readonly live: readonly CallRecord[];
}

/** Reads that are off the hot path: start-up, lists, the log. */
export class Queries {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  start(now: number): Start {
    const watermark = this.#number("select value from meta where name = 'watermark'", 1);
    const [held, suspended, unknown] = (["held", "suspended", "unknown"] as const).map(stateNumber);
    const live = `from call_waiting join call using (number)
      where state in (${suspended}, ${unknown}) or alive_until > ? or (state = ${held} and alive_until is null)`;
    this.#database.prepare(`delete from call_waiting where number not in (select number ${live})`).run(now);
    return {
      lastNumber: this.#number("select max(number) from call", 0),
      lastSeq: this.#lastSeq(),
      watermark,
      open: this.#calls(
        `${selectCalls} where call.number >= ? and state = ${stateNumber("attempted")} order by call.number`,
        watermark,
      ),
      live: this.#calls(`${selectCalls} where call.number in (select number ${live}) order by call.number`, now),
    };
  }

  /** New to old, a stretch of numbers at a time. */
  async calls(where: CallFilter, lastNumber: number, now: number): Promise<readonly CallRecord[]> {
    const { limit = Infinity, parentId } = where;
    const parent = parentId === undefined ? undefined : (numberOf(parentId) ?? -1);
    const forms = await this.#formsOf(where);
    if (forms?.length === 0) return [];
    const { sql: condition, values } = conditions({
      parent, // a number in an id is only where to look
      "more ->> '$.parentId'": parentId,
      [callStateAtAs(now)]: where.state === undefined ? undefined : stateNumber(where.state),
    });
    const ofForms = forms === undefined ? "" : "and call.form in (select value from json_each(?))";
    if (forms !== undefined) values.push(JSON.stringify(forms));
    const from =
      parent === undefined ? selectCalls : `${selectCalls} join call_child on call_child.number = call.number`;
    const sql = `${from} where call.number < ? and call.number >= ? ${condition} ${ofForms} order by call.number desc limit ?`;
    const found: CallRecord[] = [];
    for (let before = Math.min(where.before ?? Infinity, lastNumber + 1); before > 1 && found.length < limit; ) {
      const floor = this.#floorBelow(before, parent);
      const some = this.#calls(sql, before, floor, ...values, Math.min(limit - found.length, callsATurn));
      found.push(...some);
      before = some.length < callsATurn ? floor : (some.at(-1)?.call.number ?? floor);
      await turn();
    }
    return found;
  }

  /** What many calls share is looked through once, and not with each of them. Undefined: any will do. */
  async #formsOf({ tool, tenant, runId }: CallFilter): Promise<readonly number[] | undefined> {
    const { sql: condition, values } = conditions({
      tool,
      "authority ->> '$.principal.tenant'": tenant,
      "authority ->> '$.runId'": runId,
    });
    if (values.length === 0) return undefined;
    const found: number[] = [];
    const statement = this.#database.prepare(
      `select number from call_form where number > ? and number <= ? ${condition}`,
    );
    const last = this.#number("select max(number) from call_form", 0);
    for (let after = 0; after < last; after += rowsATurn) {
      for (const { number } of statement.all(after, after + rowsATurn, ...values)) found.push(Number(number));
      if (after + rowsATurn < last) await turn();
    }
    return found;
  }

  /** As far down as one turn looks. Of a call's own calls the numbers are known. */
  #floorBelow(before: number, parent: number | undefined): number {
    if (parent === undefined) return before - rowsATurn;
    const next = "select number from call_child where parent = ? and number < ? order by number desc limit ?";
    return this.#number(`select min(number) from (${next})`, 0, parent, before, callsATurn);
  }

  /** Those of the artifacts that a row needs. */
  async needed(digests: readonly string[], now: number): Promise<ReadonlySet<string>> {
    const needed = this.#edited(now);
    const referring = this.#database.prepare(
      `${selectCalls} join call_artifact on call_artifact.number = call.number where digest = ? order by call.number desc`,
    );
    for (const [i, digest] of digests.entries()) {
      if (i % digestsATurn === digestsATurn - 1) await turn();
      for (const row of referring.iterate(digest)) {
        if (!needsArtifacts(recordOf(row as unknown as CallRow), now)) continue; // the columns are those of schema.ts
        needed.add(digest);
        break;
      }
    }
    return needed;
  }

  #edited(now: number): Set<string> {
    const edited = this.#database
      .prepare(`select body from approval where state in ('pending', 'approved') and body like '%artifact":"%'`)
      .all()
      .map(({ body }) => String(body))
      .filter((body) => mayRunWith(JSON.parse(body), now));
    return new Set(edited.flatMap(digestsIn));
  }

  async *entries({ after, limit = Infinity, fresh = false }: EntryFilter): AsyncGenerator<Entry, void> {
    if (fresh) this.#forget();
    const statement = this.#database.prepare("select seq, body from event where seq >= ? order by seq limit ?");
    let left = limit;
    let rowsAtOnce = fewRowsOfEntries;
    for (let from = this.#rowWith(after + 1); left > 0; ) {
      const most = Math.min(left, rowsAtOnce);
      const rows = statement.all(from, most);
      for (const row of rows)
        for (const entry of this.#entriesOf(row)) {
          if (entry.seq <= after) continue;
          if (left === 0) return;
          left -= 1;
          yield entry;
        }
      if (rows.length < most) return;
      from = Number(rows.at(-1)?.["seq"]) + 1;
      rowsAtOnce = Math.min(2 * rowsAtOnce, rowsOfEntriesATurn);
      await turn();
    }
  }

  /** Pages are read from the file again: an open database keeps what it has read. */
  #forget(): void {
    this.#database.exec("pragma shrink_memory");
  }

  /** A row's entries follow each other. */
  #entriesOf({ seq, body }: Readonly<Record<string, SQLOutputValue>>): Entry[] {
    const first = Number(seq);
    return String(body)
      .split(entrySeparator)
      .map((body, i) => ({ seq: first + i, body }));
  }

  /** Where the row begins that has this entry, if one has it. */
  #rowWith(seq: number): number {
    return this.#number("select max(seq) from event where seq <= ?", seq, seq);
  }

  #lastSeq(): number {
    const [last] = this.#database.prepare("select seq, body from event order by seq desc limit 1").all();
    return last === undefined ? -1 : (this.#entriesOf(last).at(-1)?.seq ?? -1);
  }

  async documents(kind: string, prefix: string): Promise<readonly string[]> {
    const ids: string[] = [];
    let from = prefix;
    for (let next = ">="; ; next = ">") {
      const statement = this.#database.prepare(
        `select id, ${isNull} as is_null from document where kind = ? and id ${next} ? order by id limit ${documentsATurn}`,
      );
      const some = statement.all(kind, from).map(({ id, is_null }) => ({ id: String(id), isNull: is_null === 1 }));
      const mine = some.filter(({ id }) => id.startsWith(prefix)); // as bytes, ids of one prefix stand together
      for (const { id, isNull } of mine) if (!isNull) ids.push(id);
      from = some.at(-1)?.id ?? "";
      if (mine.length < documentsATurn) return ids.sort();
      await turn();
    }
  }

  #calls(sql: string, ...values: SQLInputValue[]): CallRecord[] {
    const rows = this.#database.prepare(sql).all(...values);
    return rows.map((row) => recordOf(row as unknown as CallRow)); // the columns are those of schema.ts
  }

  #number(sql: string, otherwise: number, ...values: SQLInputValue[]): number {
    const [value] = Object.values(this.#database.prepare(sql).get(...values) ?? {});
    return typeof value === "number" ? value : otherwise;
  }
}

/** @param wanted expression → value; what is undefined is not asked for */
function conditions(wanted: Readonly<Record<string, SQLInputValue | undefined>>): {
  readonly sql: string;
  readonly values: SQLInputValue[];
} {
  const given = Object.entries(wanted).flatMap(([expression, value]) =>
    value === undefined ? [] : [{ expression, value }],
  );
  return {
    sql: given.map(({ expression }) => `and ${expression} = ?`).join(" "),
    values: given.map(({ value }) => value),
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
