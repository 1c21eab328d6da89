import { closeSync } from "node:fs";
import type { Clock } from "../../calls/clock.ts";
import type { DurableEvent } from "../../calls/event.ts";
import { messageOf, RuntimeFault } from "../../calls/fault.ts";
import type { FaultCode } from "../../calls/fault-codes.ts";
import { harmless } from "../../calls/harmless-log.ts";
import { newId } from "../../calls/ids.ts";
import type { ApprovalRecord, CallRecord, Write } from "../../calls/records.ts";
import { Followers, type Listener } from "../followers.ts";
import { alsoTold, rule } from "../rules.ts";
import type {
  ApprovalFilter,
  CallFilter,
  CallName,
  Committed,
  Documents,
  Durability,
  Entry,
  EntryFilter,
  Spell,
  Store,
  WaitingFilter,
} from "../store.ts";
import type { Waiting } from "../urgency.ts";
import type { Batch } from "./batch.ts";
import { CurrentRows } from "./current-rows.ts";
import { type OpenDatabase, openDatabase } from "./open.ts";
import { Queries } from "./queries.ts";
import { Tables } from "./tables.ts";
import { Watermark } from "./watermark.ts";
import { Writer } from "./writer.ts";

export interface SqliteStoreOptions {
  readonly clock: Clock;
  readonly spell: Spell;
  readonly log?: (problem: string) => void;
}

/**
 * @param options `location`: a file, or `:memory:` for one that ends with the store
 * @throws RuntimeFault as `openDatabase`
 */
export function openSqliteStore(options: SqliteStoreOptions & { readonly location: string }): SqliteStore {
  return new SqliteStore(openDatabase(options.location, options.log ?? (() => {})), options);
}

/** One process, one file. A write's condition is decided at once, in memory; the writer makes it true with its neighbours. */
export class SqliteStore implements Store {
  readonly incarnation: string = newId("inc");
  readonly #database: OpenDatabase;
  readonly #spell: Spell;
  readonly #tables: Tables;
  readonly #clock: Clock;
  readonly #queries: Queries;
  readonly #rows: CurrentRows;
  readonly #watermark: Watermark;
  readonly #writer: Writer;
  readonly #followers: Followers;
  #written: readonly Entry[] = [];
  #nextSeq: number;
  #lastNumber: number;
  #isOpen = true;

  /** @param database its own from now on: closed with the store */
  constructor(database: OpenDatabase, { clock, spell, log: tell = () => {} }: SqliteStoreOptions) {
    const log = harmless(tell);
    this.#database = database;
    this.#spell = spell;
    this.#clock = clock;
    this.#queries = new Queries(database.database);
    const start = this.#queries.start(clock.now());
    this.#tables = new Tables(database.database, this.#isKept); // after `start` tidied what waits
    this.#followers = new Followers(log);
    this.#lastNumber = start.lastNumber;
    this.#nextSeq = start.lastSeq + 1;
    this.#watermark = new Watermark(start.watermark, start.lastNumber);
    const { incarnation } = this;
    this.#rows = new CurrentRows({
      incarnation,
      clock,
      tables: this.#tables,
      start,
      queued: () => this.#writer.open,
    });
    this.#writer = new Writer({
      clock,
      log,
      walFd: database.walFd,
      write: (batch) => this.#write(batch),
      taken: (batch) => this.#followers.tell(batch.tell(this.#nextSeq, this.#spell)),
      written: (batch) => this.#told(batch),
      undone: (batch) => this.#rows.undone(batch),
    });
  }

  /** Whether anybody opens it again. */
  get #isKept(): boolean {
    return this.#database.walFd !== undefined;
  }

  get broken(): Error | undefined {
    return this.#writer.broken;
  }

  get lost(): number {
    return this.#writer.lost;
  }

  flush(): void {
    if (this.#isKept) this.#writer.drain(); // in memory it is true already
  }

  nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  commit(write: Write, durability: Durability): Committed | Promise<Committed> {
    const writer = this.#writer;
    if (writer.refusal !== undefined) return Promise.reject(writer.refusal);
    let ruling: ReturnType<typeof rule>;
    try {
      ruling = rule(write, this.#rows);
    } catch (error) {
      return Promise.reject(fault("store_unreadable", "The store could not read", error));
    }
    if (!ruling.won) return writer.after(durability, ruling);
    const { event } = write;
    try {
      const later = event === undefined || (this.#isKept && isOrdinary(event));
      const spelled = later ? undefined : this.#spell(event);
      const also = alsoTold(write);
      const alsoSpelled = also && this.#spell(also); // before any of it is taken
      writer.open.add(ruling, event, spelled);
      if (also !== undefined) writer.open.tells(also, alsoSpelled);
      this.#rows.won(ruling);
    } catch (error) {
      return Promise.reject(fault("store_unwritable", "An event could not be written", error));
    }
    return writer.join(durability);
  }

  call(by: CallName): CallRecord | undefined {
    return "match" in by ? this.#rows.live(by.match, by.except) : this.#rows.callNamed(by.key);
  }

  approval(id: string): ApprovalRecord | undefined {
    return this.#rows.approval(id);
  }

  async calls(where: CallFilter): Promise<readonly CallRecord[]> {
    this.#writer.drain(); // a list is read from what is written
    return await this.#queries.calls(where, this.#lastNumber, this.#clock.now());
  }

  async approvals(where: ApprovalFilter): Promise<readonly ApprovalRecord[]> {
    this.#writer.drain();
    return this.#tables.approvals.list(where, this.#clock.now());
  }

  async waiting(where: WaitingFilter): Promise<Waiting> {
    this.#writer.drain();
    return this.#tables.approvals.waiting(where, this.#clock.now());
  }

  async stranded(): Promise<readonly CallRecord[]> {
    const others = [...this.#rows.open.values()].filter(({ fence }) => fence !== this.incarnation);
    return others.filter(({ key, fence }) => this.#rows.call(key)?.fence === fence);
  }

  async needed(digests: readonly string[]): Promise<ReadonlySet<string>> {
    this.#writer.drain();
    return await this.#queries.needed(digests, this.#clock.now());
  }

  events(where: EntryFilter): AsyncIterable<Entry> {
    if (!this.#isKept) this.#writer.drain();
    return this.#queries.entries(where);
  }

  follow(listener: Listener): Disposable {
    return this.#followers.add(listener);
  }

  readonly documents: Documents = {
    get: async (kind, id) => {
      const found = this.#rows.document(kind, id);
      return found && { version: found.version, body: found.body };
    },
    list: async (kind, prefix) => {
      this.#writer.drain();
      return this.#queries.documents(kind, prefix);
    },
  };

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#writer.close();
    const { database, walFd } = this.#database;
    database.close(); // the last one out writes the log into the file and syncs both
    if (walFd !== undefined) closeSync(walFd);
  }

  #write(batch: Batch): void {
    const untold = batch.tell(this.#nextSeq, this.#spell);
    const watermark = this.#watermark.next(batch, this.#rows.open);
    this.#tables.write({ batch, seq: this.#nextSeq, watermark });
    if (watermark !== undefined) this.#watermark.written(watermark);
    this.#nextSeq += batch.events.length;
    this.#written = untold;
  }

  #told(batch: Batch): void {
    this.#rows.written(batch);
    this.#followers.tell(this.#written);
  }
}

/**
 * Spelled with its neighbours, where that costs least: what it tells of caller, policy and result was checked before.
 * Any other event holds somebody's word, so that it is spelled before it joins them, and fails alone.
 */
function isOrdinary(event: DurableEvent): boolean {
  return event.moment === "attempted" || (event.moment === "ended" && event.by === undefined);
}

function fault(code: FaultCode, what: string, cause: unknown): RuntimeFault {
  return new RuntimeFault(code, `${what}: ${messageOf(cause)}.`, { cause });
}
