import { type Json, messageOf, RuntimeFault } from "@postern/core";
import type { Client, QueryResultRow } from "pg";
import { erasedEntry } from "../erasing.ts";
import type { Followers } from "../followers.ts";
import type { StoreEntry } from "../store.ts";
import { isConnectionLost } from "./database-errors.ts";
import type { DatabaseLink } from "./database-link.ts";
import { lostBehind, type Opening } from "./opening.ts";
import { fromStored } from "./text.ts";

export type DocumentListener = (id: string, document: { readonly version: number; readonly body: Json }) => void;

interface EntryRow extends QueryResultRow {
  readonly seq: string;
  readonly opening: number;
  readonly body: string;
}

interface DocumentRow extends QueryResultRow {
  readonly kind: string;
  readonly id: string;
  readonly version: string;
  readonly body: string;
  readonly changed: string;
  readonly opening: number;
}

interface ReadEntry extends StoreEntry {
  readonly isOwn: boolean;
}

export interface LogFeedOptions {
  readonly opening: Opening;
  readonly followers: Followers;
  readonly log: (problem: string) => void;
  /** The log is not what was delivered. */
  readonly stop: (fault: RuntimeFault) => void;
}

const entriesATime = 1_000;

/**
 * Gives followers every entry once, in order: those of this process with their events, as soon as they are committed, and
 * those of other processes before and between them.
 */
export class LogFeed {
  readonly #options: LogFeedOptions;
  readonly #documentListeners = new Map<string, Set<{ readonly listener: DocumentListener }>>();
  #link: DatabaseLink | undefined;
  /** The last entry that was delivered. */
  #last: StoreEntry | undefined;
  #delivered = -1;
  /** The last change of a document that was delivered. */
  #changed = 0;
  #turn: Promise<void> = Promise.resolve();
  #isDue = false;
  /** Entries of others stand behind own ones that were not delivered yet. */
  #isCut = false;

  constructor(options: LogFeedOptions) {
    this.#options = options;
  }

  /** Where the log ends now, before anything follows it. */
  async start(client: Client, link: DatabaseLink): Promise<void> {
    this.#link = link;
    const { rows } = await client.query<{ seq: string; changed: string }>("select seq, changed from head");
    this.#delivered = Number(rows[0]?.seq ?? 0) - 1;
    this.#changed = Number(rows[0]?.changed ?? 0);
  }

  /**
   * For a new connection: what was delivered must still be in the log.
   *
   * @throws RuntimeFault `store_lost`
   */
  async check(client: Client): Promise<void> {
    if (this.#last === undefined) return;
    const { seq, body } = this.#last;
    const { rows } = await client.query<{ body: string }>("select body from event where seq = $1", [seq]);
    const found = rows[0]?.body;
    if (found !== body && found !== erasedEntry(body))
      throw lostBehind(`entry ${seq} of the log is missing or another`);
  }

  /** For a committed batch of this process. Resolves when followers have it. */
  own(place: number, entries: readonly Omit<StoreEntry, "seq">[]): Promise<void> {
    if (entries.length === 0) return this.#turn;
    return this.#next(async () => {
      while (this.#delivered < place - 1) {
        const before = await this.#entries(place - 1 - this.#delivered);
        if (before === undefined) return;
        if (before.length === 0) throw lostBehind(`entry ${this.#delivered + 1} of the log is missing`);
        this.#deliver(before);
      }
      this.#deliver(entries.map((entry, i) => ({ ...entry, seq: place + i })));
      if (!this.#isCut) return;
      this.#isCut = false;
      this.wake();
    });
  }

  /**
   * Resolves when the followers have all entries up to this one. Those of this process before it were delivered.
   * Rejects if they could not be read.
   */
  async reach(seq: number): Promise<void> {
    if (this.#delivered >= seq) return;
    let failure: { readonly error: unknown } | undefined;
    await this.#next(async () => {
      try {
        await this.#deliverUpTo(seq);
      } catch (error) {
        failure = { error };
        throw error;
      }
    });
    if (failure !== undefined) throw failure.error;
  }

  async #deliverUpTo(seq: number): Promise<void> {
    while (this.#delivered < seq) {
      const found = await this.#entries(seq - this.#delivered);
      if (found === undefined) return;
      if (found.length === 0) throw lostBehind(`entry ${this.#delivered + 1} of the log is missing`);
      this.#deliver(found);
    }
  }

  /** Something may have been written by another process. */
  wake(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    void this.#next(async () => {
      this.#isDue = false;
      await this.#documents();
      for (;;) {
        const rows = (await this.#entries(entriesATime)) ?? [];
        // Those of this process come from `own`, which has their events.
        const first = rows.findIndex(({ isOwn }) => isOwn);
        this.#isCut = first !== -1;
        this.#deliver(this.#isCut ? rows.slice(0, first) : rows);
        if (rows.length < entriesATime || this.#isCut) return;
      }
    });
  }

  followDocuments(kind: string, listener: DocumentListener): Disposable {
    const listeners = this.#documentListeners.get(kind) ?? new Set();
    const follower = { listener };
    this.#documentListeners.set(kind, listeners.add(follower));
    return { [Symbol.dispose]: () => void listeners.delete(follower) };
  }

  /** Resolves when nothing is being delivered. */
  idle(): Promise<void> {
    return this.#turn;
  }

  #next(deliver: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(deliver).catch((error) => {
      if (error instanceof RuntimeFault) this.#options.stop(error);
      else this.#options.log(`Entries of the log could not be read: ${messageOf(error)}`);
    });
    return this.#turn;
  }

  #deliver(entries: readonly StoreEntry[]): void {
    const last = entries.at(-1);
    if (last === undefined) return;
    this.#last = last;
    this.#delivered = last.seq;
    this.#options.followers.notify(
      entries.map(({ seq, body, event, writeId }) => ({
        ...{ seq, body },
        ...(event && { event }),
        ...(writeId !== undefined && { writeId }),
      })),
    );
  }

  async #entries(limit: number): Promise<readonly ReadEntry[] | undefined> {
    const text = "select seq, opening, body from event where seq > $1 order by seq limit $2";
    const rows = await this.#rows<EntryRow>("entries", text, [this.#delivered, Math.min(limit, entriesATime)]);
    const { number } = this.#options.opening;
    return rows?.map(({ seq, opening, body }) => ({ isOwn: opening === number, seq: Number(seq), body }));
  }

  /** Undefined when the store is closed. */
  async #rows<Row extends QueryResultRow>(
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly Row[] | undefined> {
    for (;;) {
      try {
        return (await this.#link?.run((client) => client.query<Row>({ name, text, values: [...values] })))?.rows;
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
      }
    }
  }

  async #documents(): Promise<void> {
    const text = "select * from document where changed > $1 order by changed";
    const rows = (await this.#rows<DocumentRow>("changed documents", text, [this.#changed])) ?? [];
    for (const { kind, id, version, body, changed, opening } of rows) {
      this.#changed = Number(changed);
      if (opening === this.#options.opening.number) continue;
      const document = { version: Number(version), body: JSON.parse(body) as Json };
      for (const { listener } of this.#documentListeners.get(fromStored(kind)) ?? [])
        this.#tell(listener, fromStored(id), document);
    }
  }

  #tell(listener: DocumentListener, id: string, document: { readonly version: number; readonly body: Json }): void {
    try {
      listener(id, document);
    } catch (error) {
      this.#options.log(`A follower of documents threw: ${messageOf(error)}`);
    }
  }
}
