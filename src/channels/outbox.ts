import { randomBytes } from "node:crypto";
import type { Clock } from "../calls/clock.ts";
import { messageOf } from "../calls/fault.ts";
import type { JsonObject } from "../calls/json.ts";
import type { ApprovalRecord } from "../calls/records.ts";
import { counted } from "../calls/shown.ts";
import { Collection } from "../stores/collection.ts";
import type { Entry, Store } from "../stores/store.ts";
import type { Channel, ChannelState, DeadLetter, Delivered, NoticeType } from "./channel.ts";
import { Line } from "./line.ts";
import { approvalIn, entryIn, isStillAsked, mayBeTold, noticeFrom, noticeTypeOf } from "./notice.ts";
import {
  type ChannelNote,
  channelState,
  type OutboxState,
  outboxKind,
  retryAfterMs,
  stateFromJson,
  stateToJson,
  type Waiting,
} from "./outbox-state.ts";

export interface OutboxOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly channel: Channel;
  /** Entries that are committed: where a channel that is new begins. */
  readonly size: () => number;
  readonly approval: (id: string) => Promise<ApprovalRecord | undefined>;
  /** The console's address, once it is known. */
  readonly console: () => string | undefined;
  readonly note: (note: ChannelNote) => Promise<void>;
  readonly log: (problem: string) => void;
  /** Between 0 and 1. */
  readonly random: () => number;
}

/** So many wait for another try at most; what is behind them waits in the log. */
const mostWaiting = 100;
const atOnce = 4;
const mostDead = 200;
const entriesARead = 1_000;
/** What was delivered is written together: after a crash that much may be told twice. */
const saveEveryMs = 200;

/**
 * Tells one channel what the log holds for it. What is kept is a place in the log and what waits or was given up before
 * it: the notices themselves are made anew from the log at every try.
 */
export class Outbox implements AsyncDisposable {
  readonly #options: OutboxOptions;
  readonly #id: string;
  readonly #line: Line;
  readonly #states: Collection<OutboxState | undefined>;
  readonly #flying = new Set<number>();
  readonly #ending = new AbortController();
  #state: OutboxState = { series: "", after: -1, waiting: [], dead: [], delivered: 0 };
  #following: Disposable | undefined;
  #isReading = false;
  /** The last one; over, or under way. */
  #reading: Promise<void> = Promise.resolve();
  #saving: Promise<void> = Promise.resolve();
  #told = -1;
  /** Whether something was given up since the last one that was taken. */
  #failing = false;
  #cancels: { save?: (() => void) | undefined; next?: (() => void) | undefined } = {};

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#id = options.channel.name;
    this.#line = new Line(options.channel);
    this.#states = new Collection<OutboxState | undefined>({
      ...{ store: options.store, kind: outboxKind },
      read: (body) => stateFromJson(body) ?? this.#unreadable(),
      write: (state) => (state === undefined ? null : stateToJson(state)),
    });
  }

  async start(): Promise<void> {
    const { store, size } = this.#options;
    const kept = await this.#states.get(this.#id);
    this.#told = size() - 1;
    this.#state = kept ?? { ...this.#state, series: randomBytes(8).toString("hex"), after: this.#told };
    this.#failing = this.#state.dead.length > 0;
    if (kept === undefined) await this.#save();
    this.#following = store.follow((entries) => this.#hear(entries));
    this.#read();
  }

  get state(): ChannelState {
    return channelState(this.#options.channel, this.#state);
  }

  test(): Promise<Delivered> {
    this.#line.reopen();
    return this.#now("channel.test", "This is only a test: Postern reaches this channel.", {});
  }

  async urgent(type: NoticeType, summary: string): Promise<void> {
    if (!this.#options.channel.wants({ type, tenant: "default" })) return;
    const named = { kind: "store_broken", severity: "critical", dedupe_key: "store_broken" };
    const sent = await this.#now(type, summary, named);
    if (!sent.delivered) this.#options.log(`The channel \`${this.#id}\` could not be told: ${sent.problem}`);
  }

  /** Beside the log: once, and kept nowhere. */
  #now(type: NoticeType, summary: string, data: JsonObject): Promise<Delivered> {
    const at = new Date(this.#options.clock.now()).toISOString();
    const id = `msg_${this.#state.series}_${randomBytes(8).toString("hex")}`;
    return this.#line.deliver({ id, type, at, tenant: "default", summary, data }, this.#ending.signal);
  }

  async retry(): Promise<number> {
    this.#line.reopen();
    const { dead, waiting } = this.#state;
    const now = this.#options.clock.now();
    const again = dead.map(({ seq, type, problem }): Waiting => ({ seq, type, attempts: 0, nextAt: now, problem }));
    this.#state = { ...this.#state, dead: [], waiting: [...waiting, ...again] };
    await this.#save();
    this.#fly();
    return dead.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#following?.[Symbol.dispose]();
    this.#ending.abort();
    for (const cancel of Object.values(this.#cancels)) cancel?.();
    await this.#reading;
    if (this.#options.store.broken === undefined) await this.#save();
    await this.#saving;
  }

  /** Beside a commit: nothing is read or made here, and nearly always nothing is to be told. */
  #hear(entries: readonly Entry[]): void {
    const isLevel = !this.#isReading && this.#state.after === this.#told;
    this.#told = entries.at(-1)?.seq ?? this.#told;
    const isNone = entries.every(
      ({ event, body }) => event?.moment === "attempted" || event?.moment === "ended" || !mayBeTold(body),
    );
    if (isLevel && isNone) this.#state = { ...this.#state, after: this.#told };
    else this.#read();
  }

  /** From the place in the log on, as long as there is room for what waits. */
  #read(): void {
    if (this.#isReading) return;
    const told = `The log could not be read for \`${this.#id}\``;
    this.#reading = this.#readOn().catch((error: unknown) => this.#options.log(`${told}: ${messageOf(error)}`));
  }

  /** It ends in the moment in which it finds nothing more to read, not later: what is told after begins another. */
  async #readOn(): Promise<void> {
    this.#isReading = true;
    try {
      let isThere = true;
      while (isThere && this.#mayReadOn) {
        isThere = false;
        for await (const entry of this.#options.store.events({ after: this.#state.after, limit: entriesARead })) {
          isThere = true;
          if (!this.#hasRoom) break;
          this.#look(entry);
        }
        this.#fly();
      }
    } finally {
      this.#isReading = false;
      this.#fly();
    }
  }

  get #hasRoom(): boolean {
    return this.#state.waiting.length < mostWaiting;
  }

  get #mayReadOn(): boolean {
    return this.#hasRoom && this.#state.after < this.#told && !this.#ending.signal.aborted;
  }

  #look({ seq, body }: Entry): void {
    const entry = mayBeTold(body) ? entryIn(body) : undefined;
    const type = entry && noticeTypeOf(entry);
    const isWanted =
      type !== undefined && entry !== undefined && this.#options.channel.wants({ type, tenant: entry.tenant });
    const more = isWanted ? [{ seq, type, attempts: 0, nextAt: this.#options.clock.now() }] : [];
    this.#state = { ...this.#state, after: seq, waiting: [...this.#state.waiting, ...more] };
  }

  #fly(): void {
    this.#cancels.next?.();
    this.#cancels.next = undefined;
    if (this.#ending.signal.aborted) return;
    const now = this.#options.clock.now();
    const idle = this.#state.waiting.filter(({ seq }) => !this.#flying.has(seq));
    for (const one of idle.filter(({ nextAt }) => nextAt <= now)) {
      if (this.#flying.size >= atOnce) return; // each that comes back looks again
      this.#flying.add(one.seq);
      void this.#flyOne(one);
    }
    const next = Math.min(...idle.filter(({ nextAt }) => nextAt > now).map(({ nextAt }) => nextAt));
    if (Number.isFinite(next)) this.#cancels.next = this.#options.clock.in(next - now, () => this.#fly(), false);
  }

  async #flyOne(one: Waiting): Promise<void> {
    const delivered = await this.#deliver(one.seq).catch(
      (error: unknown): Delivered => ({ delivered: false, problem: messageOf(error) }),
    );
    this.#flying.delete(one.seq);
    if (this.#ending.signal.aborted) return; // it is tried anew by whoever opens this store next
    if (delivered.delivered) this.#taken(one);
    else this.#refused(one, delivered);
    this.#saveLater();
    this.#read();
    this.#fly();
  }

  async #deliver(seq: number): Promise<Delivered> {
    const { store, approval, console, clock } = this.#options;
    for await (const { body } of store.events({ after: seq - 1, limit: 1 })) {
      const entry = entryIn(body);
      const type = entry && noticeTypeOf(entry);
      if (entry === undefined || type === undefined) break;
      const approvalId = approvalIn(entry);
      const asked = approvalId === undefined ? undefined : await approval(approvalId);
      const id = `msg_${this.#state.series}_${seq}`;
      const notice = noticeFrom({ id, type, entry, approval: asked, console: console() });
      return isStillAsked(notice, clock.now()) ? this.#line.deliver(notice, this.#ending.signal) : { delivered: true };
    }
    return { delivered: true }; // there is nothing of it to tell
  }

  #taken({ seq }: Waiting): void {
    const lastDeliveredAt = this.#options.clock.now();
    const waiting = this.#state.waiting.filter((other) => other.seq !== seq);
    this.#state = { ...this.#state, waiting, delivered: this.#state.delivered + 1, lastDeliveredAt };
    if (!this.#failing) return;
    this.#failing = false;
    const summary = `The channel \`${this.#id}\` delivers again.`;
    this.#note({ type: "channel.recovered", summary, outcome: "success", data: { channel: this.#id } });
  }

  #refused(one: Waiting, { problem, final = false, retryAfterMs: asked = 0 }: Delivered & { delivered: false }): void {
    const { clock, random } = this.#options;
    const others = this.#state.waiting.filter(({ seq }) => seq !== one.seq);
    const attempts = one.attempts + 1;
    const waitMs = retryAfterMs(one, random());
    const nextAt = clock.now() + Math.max(asked, waitMs ?? 0);
    if (final || waitMs === undefined) this.#giveUp({ ...one, attempts }, problem, others);
    else this.#state = { ...this.#state, waiting: [...others, { ...one, attempts, nextAt, problem }] };
  }

  #giveUp({ seq, type, attempts }: Waiting, problem: string, waiting: readonly Waiting[]): void {
    const at = this.#options.clock.now();
    const letter: DeadLetter = { seq, type, at, attempts, problem };
    this.#state = { ...this.#state, waiting, dead: [...this.#state.dead, letter].slice(-mostDead) };
    this.#failing = true;
    const summary = `A notice to the channel \`${this.#id}\` was given up after ${counted(attempts, "try", "tries")}: ${problem}`;
    const data = { channel: this.#id, entry: seq, attempts, problem };
    this.#note({ type: "channel.dead_letter", summary, outcome: "failure", data });
  }

  #note(note: ChannelNote): void {
    this.#options
      .note(note)
      .catch((error: unknown) => this.#options.log(`${note.summary} This could not be recorded: ${messageOf(error)}`));
  }

  #saveLater(): void {
    this.#cancels.save ??= this.#options.clock.in(
      saveEveryMs,
      () => {
        this.#cancels.save = undefined;
        void this.#save();
      },
      false,
    );
  }

  /** Another process on the same store may write it too: then both tell, and the last word stands. */
  #save(): Promise<void> {
    this.#saving = this.#saving
      .then(async () => void (await this.#states.change(this.#id, () => ({ item: this.#state }))))
      .catch((error: unknown) => {
        this.#options.log(`The state of the channel \`${this.#id}\` could not be written: ${messageOf(error)}`);
      });
    return this.#saving;
  }

  #unreadable(): undefined {
    this.#options.log(`The saved state of the channel \`${this.#id}\` is not what Postern writes; it starts again.`);
  }
}
