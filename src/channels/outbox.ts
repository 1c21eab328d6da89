import { randomBytes } from "node:crypto";
import type { Clock } from "../calls/clock.ts";
import { counted } from "../calls/counted.ts";
import { messageOf } from "../calls/fault.ts";
import type { JsonObject } from "../calls/json.ts";
import type { ApprovalRecord } from "../calls/records.ts";
import type { Entry, Store } from "../stores/store.ts";
import type { Channel, ChannelState, DeadLetter, Delivered, NoticeType } from "./channel.ts";
import { approvalIn, entryIn, isStillAsked, noticeFrom, noticeTypeOf, typeInBody } from "./notice.ts";
import {
  type ChannelNote,
  type OutboxState,
  outboxKind,
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

const secondMs = 1_000;
/** Between one try and the next: about nine hours in all. */
const retryAfterMs: readonly number[] = [5, 30, 120, 600, 1_800, 7_200, 21_600].map((seconds) => seconds * secondMs);
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
  readonly #flying = new Set<number>();
  readonly #ending = new AbortController();
  #state: OutboxState = { series: "", after: -1, waiting: [], dead: [], delivered: 0 };
  #version = 0;
  #following: Disposable | undefined;
  #reading: Promise<void> | undefined;
  #saving: Promise<void> = Promise.resolve();
  #told = -1;
  /** Whether something was given up since the last one that was taken. */
  #failing = false;
  #cancels: { save?: (() => void) | undefined; next?: (() => void) | undefined } = {};

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#id = options.channel.name;
  }

  async start(): Promise<void> {
    const { store, size, log } = this.#options;
    const document = await store.documents.get(outboxKind, this.#id);
    const kept = document && stateFromJson(document.body);
    if (document !== undefined && kept === undefined)
      log(`What was kept of the channel \`${this.#id}\` is not what Postern writes; it begins anew.`);
    this.#version = document?.version ?? 0;
    this.#told = size() - 1;
    this.#state = kept ?? { ...this.#state, series: randomBytes(8).toString("hex"), after: this.#told };
    this.#failing = this.#state.dead.length > 0;
    if (kept === undefined) await this.#save();
    this.#following = store.follow((entries) => this.#hear(entries));
    this.#read();
  }

  get state(): ChannelState {
    const { channel } = this.#options;
    const { waiting, dead, delivered, lastDeliveredAt } = this.#state;
    const problem = waiting.findLast((one) => one.problem !== undefined)?.problem;
    return {
      ...{ name: channel.name, kind: channel.kind, target: channel.target, waiting: waiting.length, delivered, dead },
      ...(problem !== undefined && { problem }),
      ...(lastDeliveredAt !== undefined && { lastDeliveredAt }),
    };
  }

  test(): Promise<Delivered> {
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
    return this.#try({ id, type, at, tenant: "default", summary, data });
  }

  async retry(): Promise<number> {
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
    const isLevel = this.#reading === undefined && this.#state.after === this.#told;
    this.#told = entries.at(-1)?.seq ?? this.#told;
    const isNone = entries.every(
      ({ event, body }) => event?.moment === "attempted" || event?.moment === "ended" || typeInBody(body) === undefined,
    );
    if (isLevel && isNone) this.#state = { ...this.#state, after: this.#told };
    else this.#read();
  }

  /** From the place in the log on, as long as there is room for what waits. */
  #read(): void {
    this.#reading ??= this.#readOn()
      .catch((error: unknown) =>
        this.#options.log(`The log could not be read for \`${this.#id}\`: ${messageOf(error)}`),
      )
      .finally(() => {
        this.#reading = undefined;
        this.#fly();
      });
  }

  async #readOn(): Promise<void> {
    const { store, channel, clock } = this.#options;
    for (;;) {
      const before = this.#state.after;
      if (before >= this.#told || this.#ending.signal.aborted) return;
      for await (const { seq, body } of store.events({ after: before, limit: entriesARead })) {
        if (this.#state.waiting.length >= mostWaiting) return;
        const type = typeInBody(body);
        const entry = type === undefined ? undefined : entryIn(body);
        const isWanted = type !== undefined && entry !== undefined && channel.wants({ type, tenant: entry.tenant });
        const more = isWanted ? [{ seq, type, attempts: 0, nextAt: clock.now() }] : [];
        this.#state = { ...this.#state, after: seq, waiting: [...this.#state.waiting, ...more] };
      }
      if (this.#state.after === before) return;
      this.#fly();
    }
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
      const type = entry && noticeTypeOf(entry.type);
      if (entry === undefined || type === undefined) break;
      const approvalId = approvalIn(entry);
      const asked = approvalId === undefined ? undefined : await approval(approvalId);
      const id = `msg_${this.#state.series}_${seq}`;
      const notice = noticeFrom({ id, type, entry, approval: asked, console: console() });
      return isStillAsked(notice, clock.now()) ? this.#try(notice) : { delivered: true };
    }
    return { delivered: true }; // there is nothing of it to tell
  }

  async #try(notice: Parameters<Channel["deliver"]>[0]): Promise<Delivered> {
    try {
      return await this.#options.channel.deliver(notice, this.#ending.signal);
    } catch (error) {
      return { delivered: false, problem: messageOf(error) };
    }
  }

  #taken({ seq }: Waiting): void {
    const { waiting, delivered } = this.#state;
    this.#state = {
      ...this.#state,
      waiting: waiting.filter((other) => other.seq !== seq),
      delivered: delivered + 1,
      lastDeliveredAt: this.#options.clock.now(),
    };
    if (!this.#failing) return;
    this.#failing = false;
    const summary = `The channel \`${this.#id}\` delivers again.`;
    this.#note({ type: "channel.recovered", summary, outcome: "success", data: { channel: this.#id } });
  }

  #refused(one: Waiting, { problem, final = false, retryAfterMs: asked = 0 }: Delivered & { delivered: false }): void {
    const { clock, random } = this.#options;
    const others = this.#state.waiting.filter(({ seq }) => seq !== one.seq);
    const attempts = one.attempts + 1;
    const waitMs = retryAfterMs[one.attempts];
    if (final || waitMs === undefined) {
      this.#giveUp({ ...one, attempts }, problem, others);
      return;
    }
    const nextAt = clock.now() + Math.max(asked, Math.round(waitMs * (0.8 + 0.4 * random())));
    this.#state = { ...this.#state, waiting: [...others, { ...one, attempts, nextAt, problem }] };
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
      .then(() => this.#write())
      .catch((error: unknown) => {
        this.#options.log(`The state of the channel \`${this.#id}\` could not be written: ${messageOf(error)}`);
      });
    return this.#saving;
  }

  async #write(): Promise<void> {
    const { store } = this.#options;
    for (let tries = 0; tries < 10; tries += 1) {
      const write = { write: "document", kind: outboxKind, id: this.#id, body: stateToJson(this.#state) } as const;
      const committed = await store.commit({ ...write, expectedVersion: this.#version }, "committed");
      if (committed.won) {
        this.#version += 1;
        return;
      }
      this.#version = committed.version ?? 0;
    }
  }
}
