import { existsSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { type ApprovalRecord, deepFrozen, RuntimeFault } from "@postern/core";
import type { CopiedStatistic, OpenRows, StoreRows } from "../store-rows.ts";
import { documentName, WriteBatch } from "./batch.ts";
import { countedOf } from "./counts.ts";
import { closeDatabase, type OpenDatabase, openDatabase } from "./open.ts";
import { type CallRow, recordOf } from "./rows.ts";
import { minutesOf, Tables } from "./tables.ts";

const rowsAtOnce = 1000;
const statisticColumns = "minutes, at, tenant, tool, action, agent, decider, counted_as, code, step, count, last_at";

/** Everything in a store in a file, below its port: to copy it. It is locked until it is closed. */
export class SqliteRows implements OpenRows {
  readonly #opened: OpenDatabase;
  readonly #tables: Tables;
  readonly #location: string;
  /** Nothing was in it before it was opened, or what is in it now was added here. */
  #isOurs: boolean;

  /** @throws RuntimeFault as `openDatabase`; `store_unopenable` if the file must be there and is not */
  constructor(location: string, { isNew }: { readonly isNew: boolean }) {
    if (!isNew && !existsSync(location))
      throw new RuntimeFault("store_unopenable", `There is no store \`${resolve(location)}\`.`);
    this.#location = location;
    this.#isOurs = !existsSync(location);
    this.#opened = openDatabase(location, () => {});
    this.#tables = new Tables(this.#opened.database);
  }

  async *read(): AsyncGenerator<StoreRows> {
    const { database } = this.#opened;
    for (const rows of pages(database, "select rowid as place, * from call where rowid > ? order by rowid"))
      yield { calls: rows.map((row) => recordOf(row as unknown as CallRow)) }; // the columns are those of schema.ts
    for (const rows of pages(database, "select number as place, body from approval where number > ? order by number"))
      yield { approvals: rows.map(({ body }): ApprovalRecord => deepFrozen(JSON.parse(String(body)))) };
    for (let [kind, id] = ["", ""]; ; ) {
      const rows = database
        .prepare(`select * from document where (kind, id) > (?, ?) order by kind, id limit ${rowsAtOnce}`)
        .all(kind, id)
        .map((row) => ({
          kind: String(row["kind"]),
          id: String(row["id"]),
          version: Number(row["version"]),
          body: String(row["body"]),
        }));
      const last = rows.at(-1);
      if (last === undefined) break;
      yield { documents: rows };
      ({ kind, id } = last);
    }
    for (const statistics of this.#statistics()) yield { statistics };
    for (const rows of pages(database, "select seq as place, body from event where seq > ? order by seq", -1))
      yield { entries: rows.map(({ place, body }) => ({ seq: Number(place), body: String(body) })) };
  }

  async add({ calls = [], approvals = [], documents = [], statistics = [], entries = [] }: StoreRows): Promise<void> {
    this.#isOurs = true;
    const batch = new WriteBatch();
    for (const record of calls) batch.calls.set(record.key, { record, isNew: true });
    for (const approval of approvals) batch.approvals.set(approval.id, approval);
    for (const { kind, id, version, body } of documents)
      batch.documents.set(documentName(kind, id), { kind, id, version, body: JSON.parse(body) });
    this.#tables.write(batch, 0);
    const addCounted = this.#opened.database.prepare(
      `insert into statistic (${statisticColumns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    const addEvent = this.#opened.database.prepare("insert into event (seq, body) values (?, ?)");
    this.#opened.database.exec("begin");
    for (const { period, at, tenant, tool, action, agent, decider, as, code, step, count, lastAt } of statistics)
      addCounted.run(minutesOf(period), at, tenant, tool, action, agent, decider, as, code, step, count, lastAt);
    for (const { seq, body } of entries) addEvent.run(seq, body);
    this.#opened.database.exec("commit");
  }

  async keep(): Promise<void> {
    this.#isOurs = false;
  }

  *#statistics(): Generator<readonly CopiedStatistic[]> {
    let rows: CopiedStatistic[] = [];
    for (const row of this.#opened.database.prepare(`select ${statisticColumns} from statistic`).iterate()) {
      const period = row["minutes"] === minutesOf("minute") ? "minute" : "hour";
      rows.push({ ...countedOf(row), period });
      if (rows.length < rowsAtOnce) continue;
      yield rows;
      rows = [];
    }
    if (rows.length > 0) yield rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeDatabase(this.#opened);
    if (!this.#isOurs) return;
    for (const part of ["", "-wal", "-shm"]) rmSync(`${this.#location}${part}`, { force: true });
  }
}

function* pages(
  database: DatabaseSync,
  sql: string,
  first = 0,
): Generator<readonly Readonly<Record<string, SQLInputValue | Uint8Array | null>>[]> {
  const list = database.prepare(`${sql} limit ${rowsAtOnce}`);
  for (let after = first; ; ) {
    const rows = list.all(after);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows as readonly Readonly<Record<string, SQLInputValue>>[]; // what SQLite reads, it can write
    after = Number(last["place"]);
  }
}
