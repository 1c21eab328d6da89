import { fstatSync } from "node:fs";
import { resolve } from "node:path";
import {
  type ApprovalRecord,
  type CallRecord,
  type Clock,
  messageOf,
  newId,
  RuntimeFault,
  type StoreWrite,
} from "@postern/core";
import { harmless } from "@postern/core/system";
import { commitTimings } from "../commit-timings.ts";
import { Followers } from "../followers.ts";
import { resultOfWrite, secondEventOf } from "../rules.ts";
import type { CountedCalls, StatisticsFilter } from "../statistics.ts";
import type {
  ApprovalFilter,
  AudienceFilter,
  CallFilter,
  CallName,
  Committed,
  Documents,
  Durability,
  EntryFilter,
  GroupFilter,
  RequestCounts,
  SerializeEvent,
  Store,
  StoreEntry,
  StoreListener,
  StoreMeasures,
  StoreUpkeep,
  WaitingAudience,
  WaitingFilter,
  WaitingGroup,
} from "../store.ts";
import type { NewEntry, WriteBatch } from "./batch.ts";
import { CountQueries } from "./counts.ts";
import { CurrentRows } from "./current-rows.ts";
import { closeDatabase, faultOf, type OpenDatabase, openDatabase } from "./open.ts";
import { Queries } from "./queries.ts";
import { Tables } from "./tables.ts";
import { SqliteUpkeep } from "./upkeep.ts";
import { Writer } from "./writer.ts";

export interface SqliteStoreOptions {
  readonly clock: Clock;
  readonly serialize: SerializeEvent;
  readonly log?: (problem: string) => void;
}

/**
 * @param options `location`: a file
 * @throws RuntimeFault as `openDatabase`
 */
export function openSqliteStore(options: SqliteStoreOptions & { readonly location: string }): SqliteStore {
  const opened = openDatabase(options.location, options.log ?? (() => {}));
  try {
    return new SqliteStore(opened, options);
  } catch (error) {
    closeDatabase(opened);
    throw faultOf(error, resolve(options.location));
  }
}

/** One process, one file. The condition of a write is decided at once; the writer then writes it with others in one transaction. */
export class SqliteStore implements Store {
  readonly incarnation: string = newId("inc");
  readonly upkeep: StoreUpkeep;
  readonly #database: OpenDatabase;
  readonly #serialize: SerializeEvent;
  readonly #tables: Tables;
  readonly #clock: Clock;
  readonly #queries: Queries;
  readonly #counts: CountQueries;
  readonly #rows: CurrentRows;
  readonly #writer: Writer;
  readonly #followers: Followers;
  readonly #commits = commitTimings();
  #conflicts = 0;
  #nextSeq: number;
  #isOpen = true;

  /** @param database is closed with the store */
  constructor(database: OpenDatabase, { clock, serialize, log: writeLog = () => {} }: SqliteStoreOptions) {
    const log = harmless(writeLog);
    this.#database = database;
    this.#serialize = serialize;
    this.#clock = clock;
    this.#queries = new Queries(database.database);
    this.#counts = new CountQueries(database.database);
    this.#nextSeq = this.#queries.lastSeq() + 1;
    this.#tables = new Tables(database.database);
    this.#followers = new Followers(log);
    const { incarnation } = this;
    this.#rows = new CurrentRows({ incarnation, clock, tables: this.#tables, pending: () => this.#writer.open });
    this.#writer = new Writer({
      clock,
      log,
      walFd: database.walFd,
      lost: database.lost,
      write: (batch) => this.#tables.write(batch, this.#nextSeq),
      written: (batch) => this.#written(batch),
      undone: () => this.#rows.forget(),
      commits: this.#commits,
    });
    this.upkeep = new SqliteUpkeep({
      clock,
      database: database.database,
      find: (key) => this.#rows.callNamed(key),
      drain: () => this.#writer.drain(),
    });
  }

  get broken(): Error | undefined {
    return this.#writer.broken;
  }

  get lostBefore(): string | undefined {
    return this.#database.lostBefore;
  }

  get lost(): number {
    return this.#writer.lost;
  }

  async flush(): Promise<void> {
    this.#writer.drain();
  }

  async commit(write: StoreWrite, durability: Durability): Promise<Committed> {
    const writer = this.#writer;
    if (writer.refusal !== undefined) throw writer.refusal;
    const ruling = read(() => resultOfWrite(write, this.#rows));
    if (!ruling.won) {
      this.#conflicts += 1;
      return writer.after(durability, ruling);
    }
    writer.open.add(ruling, this.#entriesOf(write));
    writer.open.statistics.add(write);
    if (ruling.call !== undefined) this.#rows.changed(ruling.call);
    return writer.join(durability);
  }

  async call(by: CallName): Promise<CallRecord | undefined> {
    return read(() => ("match" in by ? this.#rows.answering(by) : this.#rows.callNamed(by.key)));
  }

  async approval(id: string): Promise<ApprovalRecord | undefined> {
    return read(() => this.#rows.approval(id));
  }

  async calls(where: CallFilter): Promise<readonly CallRecord[]> {
    this.#writer.drain(); // lists read only what is written
    return readAll(() => this.#queries.calls(where, this.#clock.now()));
  }

  async approvals(where: AudienceFilter): Promise<readonly ApprovalRecord[]> {
    this.#writer.drain();
    return readAll(() => this.#queries.approvals(where, this.#clock.now()));
  }

  async audiences(where: WaitingFilter): Promise<readonly WaitingAudience[]> {
    this.#writer.drain();
    return read(() => this.#counts.audiences(where, this.#clock.now()));
  }

  async groups(where: GroupFilter): Promise<readonly WaitingGroup[]> {
    this.#writer.drain();
    return read(() => this.#counts.groups(where, this.#clock.now()));
  }

  async counts(where: Pick<ApprovalFilter, "tenant">): Promise<RequestCounts> {
    this.#writer.drain();
    return read(() => this.#counts.counts(where, this.#clock.now()));
  }

  async statistics(where: StatisticsFilter): Promise<readonly CountedCalls[]> {
    this.#writer.drain();
    return readAll(() => this.#counts.statistics(where));
  }

  async stranded(): Promise<readonly CallRecord[]> {
    this.#writer.drain();
    return read(() => this.#tables.stranded(this.incarnation));
  }

  async needed(digests: readonly string[]): Promise<ReadonlySet<string>> {
    this.#writer.drain();
    return readAll(() => this.#queries.needed(digests, this.#clock.now()));
  }

  events(where: EntryFilter): AsyncIterable<StoreEntry> {
    return this.#queries.entries(where);
  }

  follow(listener: StoreListener): Disposable {
    return this.#followers.add(listener);
  }

  readonly documents: Documents = {
    get: async (kind, id) => {
      const found = read(() => this.#rows.document(kind, id));
      return found && { version: found.version, body: found.body };
    },
    list: async (kind, prefix) => {
      this.#writer.drain();
      return readAll(() => this.#queries.documents(kind, prefix));
    },
  };

  get measures(): StoreMeasures {
    return {
      conflicts: this.#conflicts,
      commits: this.#commits,
      bytes: async () =>
        read(() => ({ ...this.#queries.bytes(), write_ahead_log: fstatSync(this.#database.walFd).size })),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#writer.close();
    closeDatabase(this.#database);
  }

  /** @throws RuntimeFault `store_unwritable` */
  #entriesOf(write: StoreWrite): readonly NewEntry[] {
    const { event } = write;
    const second = secondEventOf(write);
    const named = write.writeId === undefined ? {} : { writeId: write.writeId };
    try {
      const entries = event === undefined ? [] : [{ event, body: this.#serialize(event), ...named }];
      return second === undefined ? entries : [...entries, { event: second, body: this.#serialize(second) }];
    } catch (cause) {
      const message = `An event could not be written: ${messageOf(cause)}.`;
      throw new RuntimeFault("store_unwritable", message, { cause });
    }
  }

  #written({ entries }: WriteBatch): void {
    const first = this.#nextSeq;
    this.#nextSeq += entries.length;
    this.#followers.notify(entries.map((entry, i) => ({ ...entry, seq: first + i })));
  }
}

/** @throws RuntimeFault `store_unreadable` */
function read<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw unreadable(cause);
  }
}

/** The same for a list that is read in turns. */
async function readAll<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw unreadable(cause);
  }
}

function unreadable(cause: unknown): RuntimeFault {
  return new RuntimeFault("store_unreadable", `The store could not read: ${messageOf(cause)}.`, { cause });
}
