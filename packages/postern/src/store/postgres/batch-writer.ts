import { type CallRecord, counted, messageOf, RuntimeFault, type StoreWrite, SystemClock } from "@postern/core";
import type { Timings } from "../../system/timings.ts";
import { commitTimings } from "../commit-timings.ts";
import type { Committed, Durability, SerializeEvent } from "../store.ts";
import {
  assumedRows,
  changedPast,
  type Decided,
  decideBatch,
  type EntryToWrite,
  isWithoutEffect,
  lastChangeIn,
  won,
} from "./batch-decision.ts";
import type { BatchRows, KnownRows } from "./batch-rows.ts";
import { BatchSender } from "./batch-sender.ts";
import { type HeldReading, readWhileHeld, runsHere } from "./claim-rows.ts";
import { isRefusedContent, unreadable, unwritable } from "./database-errors.ts";
import type { DatabaseLink } from "./database-link.ts";
import type { Opening, WriteSession } from "./opening.ts";
import type { VersionedRow } from "./rows.ts";

export interface BatchWriterOptions extends HeldReading {
  readonly opening: Opening;
  readonly link: DatabaseLink;
  /** It renews the lease and reads what others wrote: nothing is begun without it. */
  readonly listening: DatabaseLink;
  readonly serialize: SerializeEvent;
  /** Gives the followers what was committed. */
  readonly committed: (place: number, entries: readonly EntryToWrite[]) => Promise<void>;
  /** Resolves when the followers have all entries up to this one. */
  readonly heard: (seq: number) => Promise<void>;
  readonly synced: () => Promise<void>;
  /** For so long a write waits for the database to come back. */
  readonly patienceMs: number;
}

interface PendingWrite {
  readonly write: StoreWrite;
  readonly durability: Durability;
  readonly answer: PromiseWithResolvers<Committed>;
  /** It was answered before it was written. */
  readonly isAnswered: boolean;
  /** Monotonic. */
  readonly askedAt: number;
}

interface GivenAnswer {
  readonly pending: PendingWrite;
  readonly answer: Committed | RuntimeFault;
}

const mostInBatch = 64;
const mostTries = 50;
const mostWaiting = 100_000;
/** Milliseconds before outcomes that could not be written are tried again, at first and at most. */
const [firstRetryMs, longestRetryMs] = [500, 10_000];
const machine = new SystemClock();

/**
 * Group commit: one statement for all writes that wait, one batch after the other. A batch is decided on what is assumed,
 * and again on what was read if the database has something else.
 *
 * A batch whose connection was lost is in doubt. The next connection says whether it was written. If not, it is decided
 * again, because time has passed and other processes have gone on.
 */
export class BatchWriter {
  /** Writes that were answered and could not be written. */
  lost = 0;
  /** Writes that lost against another one. */
  conflicts = 0;
  /** How long batches took, with their sync if a caller waited for it. */
  readonly commits: Timings = commitTimings();
  broken: Error | undefined;
  readonly #options: BatchWriterOptions;
  readonly #sender: BatchSender;
  #queue: PendingWrite[] = [];
  #pumping: Promise<void> | undefined;
  /** Outcomes that could not be written, until they are tried again. */
  #putOff: PendingWrite[] = [];
  #retryMs = firstRetryMs;
  #cancelRetry: (() => void) | undefined;
  /** Rows that this process attempted. Another process settles them only when the lease of this one is over. */
  readonly #own = new Map<string, VersionedRow<CallRecord>>();
  /** Who waits until all writes that are queued now have been written. */
  #behind: { readonly batches: number; readonly resolve: () => void }[] = [];

  constructor(options: BatchWriterOptions) {
    this.#options = options;
    this.#sender = new BatchSender({ ...options, untilBack: () => this.#untilBack() });
  }

  /** The last batch that is known to be written. A database that does not have it has lost it. */
  get written(): number {
    return this.#sender.written;
  }

  /** For each new connection, before anything is written on it. */
  began(session: WriteSession): void {
    this.#sender.began(session);
  }

  join(write: StoreWrite, durability: Durability): Promise<Committed> {
    const refusal = this.#refusalOf(write);
    if (refusal !== undefined) return Promise.reject(refusal);
    const isAnswered = (durability === "queued" || durability === "buffered") && this.#cannotLose(write);
    const answer = Promise.withResolvers<Committed>();
    answer.promise.catch(() => {}); // a rejection without a waiting caller must not end the process
    if (isAnswered) answer.resolve(won);
    this.#queue.push({ write, durability, answer, isAnswered, askedAt: machine.monotonic() });
    this.#pumping ??= this.#pump();
    return answer.promise;
  }

  /** Resolves when all that is queued now was written, refused or put off, or when the database is away: a read says so. */
  async caughtUp(): Promise<void> {
    if (this.#pumping === undefined || this.#isAway) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#behind.push({ batches: 1 + Math.ceil(this.#queue.length / mostInBatch), resolve });
    await promise;
  }

  /** Refuses all that waits. */
  stop(fault: Error): void {
    this.broken ??= fault;
    this.#cancelRetry?.();
    this.#refuse([...this.#putOff.splice(0), ...this.#queue.splice(0)], this.broken);
  }

  /** Queues again what was put off. */
  retry(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#queue.unshift(...this.#putOff.splice(0));
    if (this.#queue.length > 0) this.#pumping ??= this.#pump();
  }

  #refusalOf(write: StoreWrite): Error | undefined {
    if (this.broken !== undefined) return this.broken;
    if (this.#queue.length >= mostWaiting)
      return new RuntimeFault("overloaded", `${mostWaiting} writes are waiting for the database; try again later.`);
    return !this.#isOutcome(write) && this.#isAway ? this.#unreachable() : undefined;
  }

  get #isAway(): boolean {
    return this.#longestAway.awayMs > this.#options.patienceMs;
  }

  get #longestAway(): DatabaseLink {
    const { link, listening } = this.#options;
    return listening.awayMs > link.awayMs ? listening : link;
  }

  #unreachable(): RuntimeFault {
    const { awayMs, why } = this.#longestAway;
    const message = `The store cannot reach its database for ${Math.round(awayMs / 1000)} s (${why}). Nothing was written; try again when it is back.`;
    return new RuntimeFault("store_unreachable", message);
  }

  /** Its condition holds whatever the rows are, and a loss would harm nothing. */
  #cannotLose(write: StoreWrite): boolean {
    switch (write.write) {
      case "note":
        return true;
      case "claim":
        if ((write.past?.judgedBy.length ?? 0) > 0) return false;
        return write.fresh && write.use === undefined && (write.record.idempotent || write.record.match === undefined);
      case "settle": {
        const own = this.#own.get(write.key)?.row;
        const isPlain = write.by === undefined && write.unspend === undefined;
        return isPlain && own?.idempotent === true && own.fence === write.fence;
      }
      default:
        return false;
    }
  }

  async #pump(): Promise<void> {
    await null; // so that all writes of this turn are in the batch
    while (this.#queue.length > 0) {
      const { link, listening, patienceMs } = this.#options;
      await Promise.all([link.within(patienceMs), this.#isAway || listening.within(patienceMs)]);
      this.#refuseIfAway();
      if (link.awayMs === 0) await this.#writeBatch(this.#queue.splice(0, mostInBatch));
      this.#release(false);
    }
    this.#pumping = undefined;
    this.#release(true);
  }

  /** An outcome that happened waits: nothing else knows it. */
  #refuseIfAway(): void {
    if (!this.#isAway) return;
    const others = this.#queue.filter(({ write }) => !this.#isOutcome(write));
    this.#queue = this.#queue.filter(({ write }) => this.#isOutcome(write));
    this.#refuse(others, this.#unreachable());
  }

  /** A batch is in doubt until there is a connection. What waits behind it does not wait longer than `patienceMs`. */
  async #untilBack(): Promise<void> {
    const { link, patienceMs } = this.#options;
    while (link.awayMs > 0 && this.broken === undefined) {
      await link.within(patienceMs);
      this.#refuseIfAway();
      if (this.#isAway) this.#release(true);
    }
  }

  /** A batch has ended: those who waited for it go on. */
  #release(all: boolean): void {
    const waiting = this.#behind.map(({ batches, resolve }) => ({ batches: all ? 0 : batches - 1, resolve }));
    this.#behind = waiting.filter(({ batches }) => batches > 0);
    for (const { batches, resolve } of waiting) if (batches <= 0) resolve();
  }

  async #writeBatch(batch: readonly PendingWrite[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      await this.#commit(batch);
    } catch (error) {
      if (isRefusedContent(error) && batch.length > 1) {
        for (const one of batch) await this.#writeBatch([one]); // so that one unacceptable write refuses no other
        return;
      }
      const mayKeep = this.broken === undefined && !isRefusedContent(error);
      const kept = mayKeep ? batch.filter(({ write }) => this.#isOutcome(write)) : [];
      const fault = this.broken ?? unwritable(error);
      this.#refuse(
        batch.filter((pending) => !kept.includes(pending)),
        fault,
      );
      if (kept.length > 0) this.#postpone(kept, fault);
    }
  }

  /** What a tool did here. Nothing else knows it, so it waits until it can be written. */
  #isOutcome(write: StoreWrite): boolean {
    return write.write === "settle" && write.by === undefined && write.fence === this.#options.opening.incarnation;
  }

  #postpone(outcomes: readonly PendingWrite[], fault: Error): void {
    this.#options.log(
      `${counted(outcomes.length, "outcome")} could not be written and will be tried again. ${fault.message}`,
    );
    this.#putOff.push(...outcomes);
    if (this.#cancelRetry !== undefined) return;
    this.#cancelRetry = machine.in(this.#retryMs, () => this.retry(), false);
    this.#retryMs = Math.min(2 * this.#retryMs, longestRetryMs);
  }

  async #commit(batch: readonly PendingWrite[]): Promise<void> {
    const writes = batch.map(({ write }) => write);
    let known = assumedRows(writes, this.#own);
    for (let tries = 0; tries < mostTries; tries += 1) {
      const now = this.#options.now();
      const isAssumed = known !== undefined;
      known ??= await this.#options.read(writes, now);
      const { serialize, opening } = this.#options;
      const heldUntil = this.#options.heldUntil();
      const decided = decideBatch(writes, { known, now, incarnation: opening.incarnation, heldUntil, serialize });
      known = undefined;
      if (!isAssumed && isWithoutEffect(decided)) return this.#answer(batch, await this.#heard(decided));
      const beganAt = machine.monotonic();
      const place = await this.#sender.send(decided);
      if (place === undefined) throw this.broken ?? new RuntimeFault("runtime_closed", "The store is closed.");
      if (place === "changed rows") continue;
      if (place === "lost connection") return this.#writeBatch(this.#refuseLate(batch));
      this.#retryMs = firstRetryMs;
      this.#remember(decided.rows);
      await this.#options.committed(place, decided.entries);
      return this.#answer(batch, await this.#heard(decided), beganAt);
    }
    throw new RuntimeFault("document_contended", "Other processes change the same rows all the time; try again.");
  }

  /** The followers get what a lost claim was told of, before its caller judges again. If they cannot, that claim is refused. */
  async #heard(decided: Decided): Promise<Decided> {
    try {
      await this.#options.heard(lastChangeIn(decided.answers));
      return decided;
    } catch (error) {
      const fault = unreadable(error);
      return {
        ...decided,
        answers: decided.answers.map((answer) => (changedPast(answer) === undefined ? answer : fault)),
      };
    }
  }

  /** Refuses what nothing keeps after `patienceMs`, when it is known that the batch was not written. Returns the others. */
  #refuseLate(batch: readonly PendingWrite[]): readonly PendingWrite[] {
    const { link, patienceMs } = this.#options;
    const patientSince = machine.monotonic() - patienceMs;
    const isLate = ({ write, isAnswered, askedAt }: PendingWrite): boolean =>
      !this.#isOutcome(write) && !isAnswered && askedAt < patientSince;
    const late = batch.filter(isLate);
    if (late.length === 0) return batch;
    const message = `The connection to the database was lost (${link.why}), and the new one came after more than ${patienceMs} ms. Nothing was written; try again.`;
    this.#refuse(late, new RuntimeFault("store_unreachable", message));
    return batch.filter((pending) => !isLate(pending));
  }

  #remember(rows: BatchRows): void {
    const { incarnation } = this.#options.opening;
    for (const [key, found] of rows.calls) {
      if (found.row.state === "attempted" && found.row.fence === incarnation) this.#own.set(key, found);
      else this.#own.delete(key);
    }
  }

  #answer(batch: readonly PendingWrite[], decided: Decided, beganAt?: number): void {
    const given = batch.map((pending, i): GivenAnswer => ({ pending, answer: decided.answers[i] ?? won }));
    const mustSync = ({ pending, answer }: GivenAnswer): boolean =>
      pending.durability === "synced" && !(answer instanceof RuntimeFault);
    this.conflicts += given.filter(({ answer }) => "won" in answer && !answer.won).length;
    const synced = given.filter(mustSync);
    const measure = (): void => {
      if (beganAt !== undefined) this.commits.add(machine.monotonic() - beganAt);
    };
    if (synced.length === 0) measure();
    this.#give(
      given.filter((one) => !mustSync(one)),
      decided,
    );
    if (synced.length === 0) return;
    this.#options.synced().then(
      () => {
        measure();
        this.#give(synced, decided);
      },
      (fault) => {
        for (const { pending } of synced) pending.answer.reject(fault);
      },
    );
  }

  #give(given: readonly GivenAnswer[], { rows, heldUntil }: Decided): void {
    const isLate = machine.monotonic() >= heldUntil;
    const doubtful: PendingWrite[] = [];
    for (const { pending, answer } of given) {
      if (answer instanceof RuntimeFault) pending.answer.reject(answer);
      else if (isLate && answer.won && this.#runsHere(pending.write, rows.calls)) doubtful.push(pending);
      else pending.answer.resolve(answer);
    }
    if (doubtful.length > 0) void this.#giveRead(doubtful);
  }

  /**
   * Claims whose answer came when the lease might have been over: another process may have settled them and may run them
   * again. So each is won only if its row is still that of this arrival.
   */
  async #giveRead(claims: readonly PendingWrite[]): Promise<void> {
    const writes = claims.map(({ write }) => write);
    const rows = await readWhileHeld(writes, this.#options, () => this.broken !== undefined);
    for (const { write, answer } of claims) {
      if (rows === undefined) answer.reject(this.broken ?? new RuntimeFault("runtime_closed", "The store is closed."));
      else if (write.write !== "claim" || this.#runsHere(write, rows)) answer.resolve(won);
      else {
        const { key } = write.record;
        this.#own.delete(key);
        const call = rows.get(key)?.row;
        answer.resolve({ won: false, ...(call && { call }) });
      }
    }
  }

  #runsHere(write: StoreWrite, calls: KnownRows["calls"]): boolean {
    return runsHere(write, calls, this.#options.opening.incarnation);
  }

  #refuse(batch: readonly PendingWrite[], fault: Error): void {
    const answered = batch.filter(({ isAnswered }) => isAnswered).length;
    for (const { answer } of batch) answer.reject(fault);
    this.lost += answered;
    if (answered > 0)
      this.#options.log(`Lost: ${counted(answered, "write")} that no caller waited for. ${messageOf(fault)}`);
  }
}
