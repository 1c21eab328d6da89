import { fdatasync } from "node:fs";
import { type Clock, counted, messageOf, RuntimeFault } from "@postern/core";
import type { Timings } from "../../system/timings.ts";
import type { Committed, Durability } from "../store.ts";
import { WriteBatch, won } from "./batch.ts";
import type { FileCheck } from "./open-files.ts";

export interface WriterOptions {
  readonly clock: Clock;
  /** The descriptor of the write-ahead log, to be synced. */
  readonly walFd: number;
  /** Why written data would be gone after a restart. */
  readonly lost: FileCheck;
  /** One transaction; throws when nothing of it was written. */
  readonly write: (batch: WriteBatch) => void;
  readonly written: (batch: WriteBatch) => void;
  /** A batch was dropped: nothing of it was written. */
  readonly undone: () => void;
  readonly commits: Timings;
  readonly log: (problem: string) => void;
}

/** Milliseconds after the first write of a turn in which writes are answered in microtasks; then sockets and timers go first. */
const shortTurnMs = 4;
/** Milliseconds until writes that no caller waits for are synced. */
const lazySyncMs = 100;
const mostWaiting = 100_000;
/** Buffered writes gather for so many milliseconds, or until there are so many. */
const [bufferMs, mostBuffered] = [20, 128];

/** Its `then` queues a microtask; `queueMicrotask` would make an async resource as well. */
const resolved = Promise.resolve();

/**
 * Group commit: one transaction for all waiting writes, at the latest at the end of the turn. One sync at a time, on the
 * thread pool; the next batch gathers while it runs. A failed sync stops the store for good, because a second sync could
 * succeed although data is lost.
 */
export class Writer {
  open: WriteBatch = new WriteBatch();
  broken: Error | undefined;
  /** Writes that were answered and could not be written. */
  lost = 0;
  readonly #options: WriterOptions;
  /** Written batches whose callers wait for the disk. */
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

  /** Why no write is accepted now. */
  get refusal(): Error | undefined {
    if (this.broken !== undefined || this.#waiting < mostWaiting) return this.broken;
    return new RuntimeFault("overloaded", `${mostWaiting} writes are waiting for the disk; try again later.`);
  }

  /** Call it after adding a write to `open`. */
  join(durability: Durability): Committed | Promise<Committed> {
    this.#waiting += 1;
    if (durability === "buffered") return this.#buffer();
    if (!this.#turnEnd) this.#armTurnEnd();
    return durability === "queued" ? this.#answer() : this.#wait(durability);
  }

  /** Answers a lost write once the write that won is as durable as asked. */
  after(durability: Durability, answer: Committed): Committed | Promise<Committed> {
    if (durability === "buffered" || durability === "queued") return answer;
    if (this.open.writes > 0) return this.#wait(durability).then(() => answer);
    if (durability === "committed" || (!this.#dirty && !this.#syncing)) return Promise.resolve(answer);
    const ticket = new WriteBatch(); // an empty batch that waits for the sync
    this.#toSync.push(ticket);
    this.#dirty = true;
    this.#sync();
    return ticket.synced().then(() => answer);
  }

  drain(): void {
    const batch = this.open;
    if (batch.writes === 0) return;
    this.open = new WriteBatch();
    batch.beganAt = this.#options.clock.monotonic();
    const failure = this.broken ?? this.#failureOf(batch);
    if (failure !== undefined) {
      this.#undo(batch, failure);
      return;
    }
    batch.resolveCommitted();
    this.#dirty = true;
    if (batch.isDurable) {
      this.#toSync.push(batch);
      this.#sync();
    } else {
      this.#waiting -= batch.writes;
      this.#measure(batch);
      this.#lazySync ??= this.#options.clock.in(lazySyncMs, this.#syncLazily);
    }
    this.#options.written(batch);
  }

  /** Writes and syncs the open batch; later writes are refused. */
  async close(): Promise<void> {
    this.drain();
    this.broken ??= new RuntimeFault("runtime_closed", "The store is closed.");
    this.#lazySync?.();
    if (!this.#syncing) return;
    this.#idle = Promise.withResolvers();
    await this.#idle.promise;
  }

  /** Whether the lazy sync came due while another sync was running. */
  get #isSyncDue(): boolean {
    return this.#dirty && this.#lazySync === undefined && this.broken === undefined;
  }

  get #isTurnShort(): boolean {
    return this.#options.clock.monotonic() - this.#turnBegan <= shortTurnMs;
  }

  #wait(durability: "committed" | "synced"): Promise<Committed> {
    const batch = this.open;
    if (!this.#turnEnd) this.#armTurnEnd();
    if (durability === "committed" || !this.#syncing) this.#drainInMicrotask();
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

  /** Drains in a microtask, after all writes of the present one have joined. */
  #drainInMicrotask(): void {
    if (this.#soon || !this.#isTurnShort) return;
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
    this.#options.undone();
    batch.reject(failure);
    const { answered } = batch;
    this.lost += answered;
    if (answered > 0)
      this.#options.log(`Lost: ${counted(answered, "write")} that no caller waited for. ${failure.message}`);
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
    const failure = error === null ? this.#lossFound() : broken(error);
    if (failure !== undefined) this.#stop(failure);
    for (const batch of [...batches, ...(failure === undefined ? [] : this.#toSync.splice(0))]) {
      this.#waiting -= batch.writes;
      if (failure === undefined) this.#measure(batch);
      if (failure === undefined) batch.resolveSynced();
      else batch.reject(failure);
    }
    this.drain();
    if (this.#toSync.length > 0 || this.#isSyncDue) this.#sync();
    if (!this.#syncing) this.#idle?.resolve();
  }

  /**
   * Every sync looks, because a call with an effect waits for one: no tool with an effect starts on a claim that is gone.
   * Other writes are synced within `lazySyncMs`, so a loss under them is found by then.
   */
  #lossFound(): RuntimeFault | undefined {
    const why = this.#options.lost();
    if (why === undefined) return undefined;
    const message = `The store is lost: ${why} while Postern runs, so what is written now would be gone. The store has stopped. Put the right file in its place and start again.`;
    return new RuntimeFault("store_lost", message);
  }

  #measure({ beganAt }: WriteBatch): void {
    const { clock, commits } = this.#options;
    if (beganAt !== undefined) commits.add(clock.monotonic() - beganAt);
  }

  #stop(failure: RuntimeFault): void {
    this.broken = failure;
    this.#options.log(failure.message);
  }
}

function broken(cause: Error): RuntimeFault {
  const message = `The disk did not keep what was written (${cause.message}); the store has stopped. Check the disk and start again.`;
  return new RuntimeFault("store_broken", message, { cause });
}
