import { fdatasync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { messageOf, RuntimeFault } from "../../core/fault.ts";
import { counted } from "../../core/shown.ts";
import type { Committed, Durability } from "../store.ts";
import { WriteBatch, won } from "./batch.ts";

export interface WriterOptions {
  readonly clock: Clock;
  /** The descriptor of the write-ahead log, to be synced. */
  readonly walFd: number;
  /** One transaction; throws when nothing of it became true. */
  readonly write: (batch: WriteBatch) => void;
  readonly written: (batch: WriteBatch) => void;
  readonly log: (problem: string) => void;
}

/** So long after a turn's first write its waiters are served between two promises; then sockets and timers go first. */
const youngMs = 4;
/** What nobody waits for is on the disk so long after its commit. */
const lazySyncMs = 100;
const mostWaiting = 100_000;
/** What is buffered gathers so long, or until it is so much: a script of fifty calls is over by then. */
const [bufferMs, mostBuffered] = [20, 128];

/** Its `then` queues a microtask; `queueMicrotask` would make an async resource as well. */
const resolved = Promise.resolve();

/**
 * Group commit without a timer: one transaction for all who wait, at the end of the turn at the latest. One sync at a
 * time, on the thread pool; while it runs the next batch gathers. A sync that failed stops the store for good: what the
 * kernel then holds is unknown, and asking again would be told a lie.
 */
export class Writer {
  open: WriteBatch = new WriteBatch();
  broken: Error | undefined;
  /** So many writes were answered and not written. */
  lost = 0;
  readonly #options: WriterOptions;
  /** Written, and somebody waits for the disk. */
  #toSync: WriteBatch[] = [];
  /** Something was written since the last sync began. */
  #dirty = false;
  #syncing = false;
  #turnEnd = false;
  #turnBegan = 0;
  #soon = false;
  #lazySync: (() => void) | undefined;
  #buffering = false;
  #waiting = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Why nothing can be taken now. */
  get refusal(): Error | undefined {
    if (this.broken !== undefined || this.#waiting < mostWaiting) return this.broken;
    return new RuntimeFault("overloaded", `${mostWaiting} writes are waiting for the disk; try again later.`);
  }

  /** After a write was added to `open`. */
  join(durability: Durability): Committed | Promise<Committed> {
    this.#waiting += 1;
    if (durability === "buffered") return this.#buffer();
    if (!this.#turnEnd) this.#armTurnEnd();
    return durability === "queued" ? this.#answer() : this.#wait(durability);
  }

  /** For who lost: the answer is true when what it lost against is. */
  after(durability: Durability, answer: Committed): Committed | Promise<Committed> {
    if (durability === "buffered" || durability === "queued") return answer;
    if (this.open.writes > 0) return this.#wait(durability).then(() => answer);
    if (durability === "committed" || (!this.#dirty && !this.#syncing)) return Promise.resolve(answer);
    const ticket = new WriteBatch(); // nothing to write; it waits for the sync of what was
    this.#toSync.push(ticket);
    this.#dirty = true;
    this.#sync();
    return ticket.synced().then(() => answer);
  }

  drain(): void {
    const batch = this.open;
    if (batch.writes === 0) return;
    this.open = new WriteBatch();
    const failure = this.broken ?? this.#failureOf(batch);
    if (failure !== undefined) {
      this.#undo(batch, failure);
      return;
    }
    batch.resolveCommitted(); // what others make of it changes nothing for who waits
    this.#dirty = true;
    if (batch.isDurable) {
      this.#toSync.push(batch);
      this.#sync();
    } else {
      this.#waiting -= batch.writes;
      this.#lazySync ??= this.#options.clock.in(lazySyncMs, this.#syncLazily);
    }
    this.#options.written(batch);
  }

  /** Writes and syncs what is there; nothing is taken any more. */
  async close(): Promise<void> {
    this.drain();
    this.broken ??= new RuntimeFault("store_closed", "The store is closed.");
    this.#lazySync?.();
    if (!this.#syncing) return;
    this.#idle = Promise.withResolvers();
    await this.#idle.promise;
  }

  /** The time for what nobody waits for came while another sync was under way. */
  get #isSyncDue(): boolean {
    return this.#dirty && this.#lazySync === undefined && this.broken === undefined;
  }

  get #isYoung(): boolean {
    return this.#options.clock.monotonic() - this.#turnBegan <= youngMs;
  }

  #wait(durability: "committed" | "synced"): Promise<Committed> {
    const batch = this.open;
    if (!this.#turnEnd) this.#armTurnEnd(); // what it waits for may be buffered only
    if (durability === "committed" || !this.#syncing) this.#hurry();
    return durability === "synced" ? batch.synced() : batch.committed();
  }

  #buffer(): Committed {
    if (!this.#buffering) {
      this.#buffering = true;
      this.#options.clock.in(bufferMs, this.#drainLate);
    }
    const answer = this.#answer();
    if (this.open.writes >= mostBuffered) this.drain();
    return answer;
  }

  readonly #drainLate = (): void => {
    this.#buffering = false;
    this.drain();
  };

  #answer(): Committed {
    this.open.answered += 1;
    return won;
  }

  #armTurnEnd(): void {
    this.#turnEnd = true;
    this.#turnBegan = this.#options.clock.monotonic();
    setImmediate(this.#atTurnEnd);
  }

  readonly #atTurnEnd = (): void => {
    this.#turnEnd = false;
    this.drain();
  };

  /** A microtask comes after everybody who became ready in this one has joined. */
  #hurry(): void {
    if (this.#soon || !this.#isYoung) return;
    this.#soon = true;
    void resolved.then(this.#drainSoon);
  }

  readonly #drainSoon = (): void => {
    this.#soon = false;
    this.drain();
  };

  #failureOf(batch: WriteBatch): RuntimeFault | undefined {
    try {
      this.#options.write(batch);
      return undefined;
    } catch (error) {
      return new RuntimeFault("store_unwritable", `The store could not write: ${messageOf(error)}.`, { cause: error });
    }
  }

  #undo(batch: WriteBatch, failure: Error): void {
    this.#waiting -= batch.writes;
    batch.reject(failure);
    const { answered } = batch;
    this.lost += answered;
    if (answered > 0)
      this.#options.log(`Lost: ${counted(answered, "write")} that nobody waited for. ${failure.message}`);
  }

  readonly #syncLazily = (): void => {
    this.#lazySync = undefined;
    this.#sync();
  };

  #sync(): void {
    if (this.#syncing || !this.#dirty) return;
    const batches = this.#toSync;
    this.#toSync = [];
    this.#dirty = false;
    this.#syncing = true;
    fdatasync(this.#options.walFd, (error) => this.#synced(batches, error));
  }

  #synced(batches: readonly WriteBatch[], error: Error | null): void {
    this.#syncing = false;
    if (error !== null) this.#stop("The disk did not keep what was written", error);
    for (const batch of [...batches, ...(error === null ? [] : this.#toSync.splice(0))]) {
      this.#waiting -= batch.writes;
      if (error === null) batch.resolveSynced();
      else batch.reject(this.broken ?? error);
    }
    this.drain();
    if (this.#toSync.length > 0 || this.#isSyncDue) this.#sync();
    if (!this.#syncing) this.#idle?.resolve();
  }

  #stop(what: string, cause: unknown): void {
    const message = `${what} (${messageOf(cause)}); the store has stopped. Check the disk and start again.`;
    this.broken = new RuntimeFault("store_broken", message, { cause });
    this.#options.log(message);
  }
}
