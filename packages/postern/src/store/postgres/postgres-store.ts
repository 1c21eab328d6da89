/**
 * The store in PostgreSQL, for several processes on one database.
 *
 * Invariant: rules.ts decides, here; the database only checks that each row a batch was decided on still has its version,
 * and then writes all of it in one statement (schema.ts). There is one log: its place is locked for that statement, and
 * never while the disk is waited for.
 * Next: batch-writer.ts (group commit), log-feed.ts (followers), database-link.ts (lost connections), lease-heartbeat.ts (leases and time).
 */

import type { ApprovalRecord } from "@postern/core";
import { type CallRecord, type Clock, newId, RuntimeFault, type StoreWrite, SystemClock } from "@postern/core";
import { harmless } from "@postern/core/system";
import type { Client } from "pg";
import { Followers } from "../followers.ts";
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
  Leases,
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
import { readPostgresAddress } from "./address.ts";
import { BatchWriter } from "./batch-writer.ts";
import { connect, type DatabaseOptions, Readers, syncingSettings, writingSettings } from "./connections.ts";
import { DatabaseClock } from "./database-clock.ts";
import { unopenable } from "./database-errors.ts";
import { DatabaseLink } from "./database-link.ts";
import { beatAnswerMs, LeaseHeartbeat } from "./lease-heartbeat.ts";
import { leasesIn } from "./leases.ts";
import { loadPg } from "./load-pg.ts";
import { LogFeed } from "./log-feed.ts";
import { checkServer, migrate, newestStep } from "./migrations.ts";
import { addOpening, beginWriteSession, lastBatch, lostBehind, type Opening } from "./opening.ts";
import { PostgresQueries } from "./queries.ts";
import { readKnown } from "./read-known.ts";
import { SyncPoint } from "./sync-point.ts";
import { PostgresUpkeep } from "./upkeep.ts";

export interface PostgresStoreOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME` */
  readonly url: string;
  readonly clock: Clock;
  readonly serialize: SerializeEvent;
  readonly log?: (problem: string) => void;
  /** Whose time decides what has expired: that of the database, or for tests with a clock of their own that clock. */
  readonly time?: "database" | "clock";
  /** The calls of a process that died are found after this time; 15,000 by default. */
  readonly leaseMs?: number;
  /** After it a statement or a connection is given up; 30,000 by default. */
  readonly timeoutMs?: number;
  /** For so long a write waits for a database that is away; 5,000 by default. */
  readonly patienceMs?: number;
}

const defaults = { leaseMs: 15_000, timeoutMs: 30_000, patienceMs: 5_000, time: "database" } as const;
/** What other processes wrote is looked for so often, in case the database's word got lost. */
const lookMs = 1_000;
const machine = new SystemClock();

/** @throws RuntimeFault `options_invalid`, `dependency_missing`, `store_unopenable`, `store_foreign`, `store_newer`, `store_locked` */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const address = readPostgresAddress(options.url);
  const { timeoutMs = defaults.timeoutMs, leaseMs = defaults.leaseMs } = options;
  const log = harmless(options.log ?? (() => {}));
  const connections: DatabaseOptions = { pg: await loadPg(), address, timeoutMs, log };
  let store: PostgresStore | undefined;
  try {
    const client = await connect(connections);
    let opening: Opening;
    try {
      await checkServer(client, address.shown);
      await migrate(client, address);
      opening = await addOpening(client, { incarnation: newId("inc"), step: newestStep(), leaseMs });
    } finally {
      await client.end().catch(() => {}); // its error is thrown already
    }
    store = new PostgresStore(opening, connections, { ...defaults, ...options, log });
    await store.begin();
    return store;
  } catch (error) {
    await store?.[Symbol.asyncDispose]();
    throw unopenable(error, address.shown);
  }
}

type StoreSettings = Required<Omit<PostgresStoreOptions, "url">>;

export class PostgresStore implements Store {
  readonly incarnation: string;
  /** The time of the database, which all processes on this store share. */
  readonly clock: Clock;
  /** Calls of a process that died are to be looked for so often. */
  readonly strandedEveryMs: number;
  readonly leases: Leases;
  readonly upkeep: StoreUpkeep;
  readonly #settings: StoreSettings;
  readonly #opening: Opening;
  readonly #writing: DatabaseLink;
  readonly #syncing: DatabaseLink;
  readonly #listening: DatabaseLink;
  readonly #readers: Readers;
  readonly #queries: PostgresQueries;
  readonly #writer: BatchWriter;
  readonly #feed: LogFeed;
  readonly #followers: Followers;
  readonly #heartbeat: LeaseHeartbeat;
  #looking: (() => void) | undefined;
  #isOpen = true;
  #hasBegun = false;
  #broken: Error | undefined;

  constructor(opening: Opening, connections: DatabaseOptions, settings: StoreSettings) {
    const { log, leaseMs, serialize, patienceMs } = settings;
    this.incarnation = opening.incarnation;
    this.strandedEveryMs = leaseMs;
    this.#settings = settings;
    this.#opening = opening;
    const shared = new DatabaseClock(settings.clock);
    this.clock = settings.time === "database" ? shared : settings.clock;
    const link = (
      name: string,
      settings: Readonly<Record<string, string>>,
      begin: (client: Client) => Promise<void>,
      options: DatabaseOptions = connections,
    ): DatabaseLink =>
      new DatabaseLink({
        name,
        log,
        begin,
        connect: () => connect(options, settings),
        isFinal: () => this.#broken !== undefined,
      });
    this.#writing = link("writing", writingSettings, (client) => this.#beginWriting(client));
    this.#syncing = link("syncing", syncingSettings, (client) => this.#beginSyncing(client));
    const answerMs = Math.min(connections.timeoutMs, beatAnswerMs(leaseMs));
    const beginListening = (client: Client): Promise<void> => this.#beginListening(client, connections.address.schema);
    this.#listening = link("listening", {}, beginListening, { ...connections, answerMs });
    this.#readers = new Readers(connections);
    this.#queries = new PostgresQueries(this.#readers.run);
    this.#followers = new Followers(log);
    const stop = (fault: RuntimeFault): void => void this.#stop(fault);
    this.#feed = new LogFeed({ opening, followers: this.#followers, log, stop });
    const syncPoint = new SyncPoint(this.#syncing);
    this.#writer = new BatchWriter({
      ...{ opening, link: this.#writing, listening: this.#listening, serialize, log, patienceMs },
      now: () => this.clock.now(),
      read: (writes, now) => readKnown(writes, { now, opening: opening.number, run: this.#readers.run }),
      committed: (place, entries) => this.#feed.own(place, entries),
      heard: (seq) => this.#feed.reach(seq),
      synced: () => this.#synced(syncPoint),
      heldUntil: () => this.#heartbeat.heldUntil,
    });
    const step = newestStep();
    this.#heartbeat = new LeaseHeartbeat({ opening, link: this.#listening, clock: shared, step, leaseMs, log, stop });
    this.leases = leasesIn(opening, this.#readers.run);
    this.upkeep = new PostgresUpkeep({
      run: this.#readers.run,
      now: () => this.clock.now(),
      caughtUp: () => this.#writer.caughtUp(),
    });
  }

  get broken(): Error | undefined {
    return this.#broken;
  }

  get lost(): number {
    return this.#writer.lost;
  }

  get measures(): StoreMeasures {
    const { conflicts, commits } = this.#writer;
    return { conflicts, commits, bytes: () => this.#queries.bytes() };
  }

  /** Opens the connections. Call it once, before anything else. */
  async begin(): Promise<void> {
    await Promise.all([this.#writing.open(), this.#syncing.open(), this.#listening.open()]);
    await this.#listening.run((client) => this.#feed.start(client, this.#listening));
    await this.#heartbeat.beat();
    this.#heartbeat.start();
    this.#look();
    this.#hasBegun = true;
  }

  commit(write: StoreWrite, durability: Durability): Promise<Committed> {
    return this.#broken === undefined ? this.#writer.join(write, durability) : Promise.reject(this.#broken);
  }

  async flush(): Promise<void> {
    await this.#writer.caughtUp();
  }

  async call(by: CallName): Promise<CallRecord | undefined> {
    await this.#writer.caughtUp();
    return "match" in by ? this.#queries.answering(by, this.clock.now()) : this.#queries.call(by.key);
  }

  async approval(id: string): Promise<ApprovalRecord | undefined> {
    await this.#writer.caughtUp();
    return this.#queries.approval(id);
  }

  async calls(where: CallFilter): Promise<readonly CallRecord[]> {
    await this.#writer.caughtUp();
    return this.#queries.calls(where, this.clock.now());
  }

  async approvals(where: AudienceFilter): Promise<readonly ApprovalRecord[]> {
    await this.#writer.caughtUp();
    return this.#queries.approvals(where, this.clock.now());
  }

  async audiences(where: WaitingFilter): Promise<readonly WaitingAudience[]> {
    await this.#writer.caughtUp();
    return this.#queries.audiences(where, this.clock.now());
  }

  async groups(where: GroupFilter): Promise<readonly WaitingGroup[]> {
    await this.#writer.caughtUp();
    return this.#queries.groups(where, this.clock.now());
  }

  async counts(where: Pick<ApprovalFilter, "tenant">): Promise<RequestCounts> {
    await this.#writer.caughtUp();
    return this.#queries.counts(where, this.clock.now());
  }

  async statistics(where: StatisticsFilter): Promise<readonly CountedCalls[]> {
    await this.#writer.caughtUp();
    return this.#queries.statistics(where);
  }

  async stranded(): Promise<readonly CallRecord[]> {
    await this.#writer.caughtUp();
    return this.#queries.stranded(this.incarnation);
  }

  async needed(digests: readonly string[]): Promise<ReadonlySet<string>> {
    await this.#writer.caughtUp();
    return this.#queries.needed(digests, this.clock.now());
  }

  events(where: EntryFilter): AsyncIterable<StoreEntry> {
    return this.#queries.entries(where);
  }

  follow(listener: StoreListener): Disposable {
    return this.#followers.add(listener);
  }

  readonly documents: Required<Documents> = {
    follow: (kind, listener) => this.#feed.followDocuments(kind, listener),
    get: async (kind, id) => {
      await this.#writer.caughtUp();
      return this.#queries.document(kind, id);
    },
    list: async (kind, prefix) => {
      await this.#writer.caughtUp();
      return this.#queries.documents(kind, prefix);
    },
  };

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const fault = new RuntimeFault("runtime_closed", "The store is closed.");
    this.#broken ??= fault;
    this.#heartbeat.stop();
    this.#looking?.();
    if (this.#hasBegun && this.#writing.awayMs === 0 && this.#syncing.awayMs === 0) {
      this.#writer.retry();
      await this.#writer.caughtUp();
      await this.#feed.idle();
      await this.#syncing.run(async () => {}); // a sync that is under way ends first
      await this.#leave();
    }
    this.#writer.stop(fault);
    await Promise.allSettled([this.#writing.close(), this.#syncing.close(), this.#listening.close()]);
    await this.#readers.close();
  }

  /** So that others need not wait for the lease to end. */
  async #leave(): Promise<void> {
    const text = "update opening set lease_until = clock_timestamp() where number = $1";
    await this.#readers.run({ text, values: [this.#opening.number] }).catch(() => []); // then the lease ends by itself
  }

  async #beginWriting(client: Client): Promise<void> {
    const session = await this.#checked(() => beginWriteSession(client, this.#opening));
    if (session.batch < this.#writer.written) throw this.#stop(behind(session.batch, this.#writer.written));
    this.#writer.began(session);
  }

  async #beginSyncing(client: Client): Promise<void> {
    const batch = await this.#checked(() => lastBatch(client, this.#opening));
    if (batch < this.#writer.written) throw this.#stop(behind(batch, this.#writer.written));
  }

  async #beginListening(client: Client, schema: string): Promise<void> {
    client.on("notification", ({ payload }) => {
      if (payload !== String(this.#opening.number)) this.#feed.wake();
    });
    await client.query(`listen "postern ${schema}"`);
    await this.#checked(() => this.#feed.check(client));
  }

  async #checked<T>(check: () => Promise<T>): Promise<T> {
    try {
      return await check();
    } catch (error) {
      if (error instanceof RuntimeFault) this.#stop(error);
      throw error;
    }
  }

  async #synced(syncPoint: SyncPoint): Promise<void> {
    try {
      await syncPoint.synced();
    } catch (error) {
      if (error instanceof RuntimeFault && error.code === "store_broken") this.#stop(error);
      throw this.#broken ?? error;
    }
  }

  #look(): void {
    this.#looking = machine.in(
      lookMs,
      () => {
        this.#feed.wake();
        if (this.#broken === undefined) this.#look();
      },
      false,
    );
  }

  /** For good: nothing more is written. */
  #stop(fault: RuntimeFault): RuntimeFault {
    if (this.#broken !== undefined) return fault;
    this.#broken = fault;
    this.#settings.log(fault.message);
    this.#heartbeat.stop();
    this.#looking?.();
    this.#writer.stop(fault);
    for (const link of [this.#writing, this.#syncing, this.#listening]) void link.close();
    return fault;
  }
}

function behind(has: number, wrote: number): RuntimeFault {
  return lostBehind(`batch ${wrote} of this process was committed, and the database has ${has}`);
}
