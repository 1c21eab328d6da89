import { randomBytes } from "node:crypto";
import { type ApprovalRecord, type Clock, counted, type JsonObject, messageOf } from "@postern/core";
import { eventIn } from "../../audit/entry.ts";
import { Collection } from "../../store/collection.ts";
import { Lease } from "../../store/lease.ts";
import type { Store, StoreEntry } from "../../store/store.ts";
import type { Channel, ChannelState, DeadLetter, Delivered, Notice, NoticeType } from "./channel.ts";
import { approvalIn, isStillAsked, mayHaveNotice, noticeFrom, noticeTypeOf } from "./notice.ts";
import { channelState, type OutboxState, retried, retryAfterMs, stateIn, type WaitingNotice } from "./outbox-state.ts";

/** What became of a channel, for the log. */
export interface ChannelNote {
  readonly type: "channel.dead_letter" | "channel.recovered";
  readonly summary: string;
  readonly outcome: "success" | "failure";
  readonly data: JsonObject;
}

export interface OutboxOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly channel: Channel;
  /** Entries that are committed: a new channel begins there. */
  readonly size: () => number;
  readonly approval: (id: string) => Promise<ApprovalRecord | undefined>;
  /** The console's address, once it is known. */
  readonly console: () => string | undefined;
  readonly note: (note: ChannelNote) => Promise<void>;
  readonly log: (problem: string) => void;
  /** Between 0 and 1. */
  readonly random: () => number;
}

/** If so many wait for another try, reading the log stops. */
const mostWaiting = 100;
const atOnce = 4;
const mostDead = 200;
const entriesARead = 1_000;
/** The position is saved so often: after a crash, notices of that time may be sent twice. */
const saveEveryMs = 200;

/**
 * The subscriber that sends one channel its notices. Its state is a position in the log, and what waits or was given up
 * before it. Notices are made from the log again at each try.
 *
 * Of the processes on one store, only the owner of the channel's lease sends. The next owner begins from the saved state:
 * no notice is lost, and what the last owner sent without saving it is sent twice.
 */
export class Outbox implements AsyncDisposable {
  readonly #options: OutboxOptions;
  readonly #id: string;
  readonly #states: Collection<OutboxState | undefined>;
  readonly #lease: Lease;
  readonly #sending = new Set<number>();
  readonly #ending = new AbortController();
  #state: OutboxState = { series: "", after: -1, waiting: [], dead: [], delivered: 0 };
  readonly #following = new DisposableStack();
  #isReading = false;
  /** This process became the owner and has not read yet what the last owner saved. */
  #mustLoad = false;
  #reading: Promise<void> = Promise.resolve();
  #saving: Promise<void> = Promise.resolve();
  /** The last entry that the store announced. */
  #last = -1;
  /** Whether a notice was given up since the last delivery. */
  #failing = false;
  /** Set if the receiver no longer exists: why. Nothing is sent until a person asks for it. */
  #gone: string | undefined;
  #cancels: { save?: (() => void) | undefined; next?: (() => void) | undefined } = {};

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#id = options.channel.name;
    this.#states = new Collection<OutboxState | undefined>({
      ...{ store: options.store, kind: "channel" },
      read: (body) => stateIn(body) ?? this.#unreadable(),
    });
    const { store, clock, log } = options;
    this.#lease = new Lease({ store, clock, log, name: `channel ${this.#id}`, begin: () => this.#begin() });
  }

  async start(): Promise<void> {
    const { store, size } = this.#options;
    const stored = await this.#states.get(this.#id);
    this.#last = size() - 1;
    this.#become(stored ?? { ...this.#state, series: randomBytes(8).toString("hex"), after: this.#last });
    if (stored === undefined) await this.#saveFirst();
    this.#following.use(store.follow((entries) => this.#follow(entries)));
    const following = store.documents.follow?.("channel", (id, { body }) => {
      if (id === this.#id) this.#changedElsewhere(stateIn(body));
    });
    if (following !== undefined) this.#following.use(following);
    await this.#lease.open();
  }

  #begin(): void {
    this.#mustLoad = this.#options.store.leases !== undefined;
    this.#read();
  }

  #become(state: OutboxState): void {
    this.#state = state;
    this.#failing = state.dead.length > 0;
  }

  /** If another process was faster, its state is the channel's. */
  async #saveFirst(): Promise<void> {
    try {
      const first = this.#state;
      const { item } = await this.#states.change(this.#id, (stored) => (stored ? undefined : { item: first }));
      if (item !== undefined) this.#become(item);
    } catch (error) {
      this.#unsaved(error);
    }
  }

  /** Whether this process sends, and its state is the channel's. */
  get #isSender(): boolean {
    return this.#lease.isOwner && !this.#mustLoad;
  }

  /** The owner knows more than another process, but not what a person retried there. */
  #changedElsewhere(state: OutboxState | undefined): void {
    if (state === undefined) return;
    if (!this.#isSender) {
      this.#become(state);
      return;
    }
    const waits = new Set(state.waiting.map(({ seq }) => seq));
    const asked = this.#state.dead.filter(({ seq }) => waits.has(seq));
    if (asked.length === 0) return;
    this.#gone = undefined;
    this.#state = retried(this.#state, asked, this.#options.clock.now());
    void this.#save();
    this.#send();
  }

  get state(): ChannelState {
    return channelState(this.#options.channel, this.#state);
  }

  test(): Promise<Delivered> {
    this.#gone = undefined;
    return this.#sendNow("channel.test", "This is only a test: Postern reaches this channel.", {});
  }

  async urgent(type: NoticeType, summary: string): Promise<void> {
    if (!this.#options.channel.wants({ type, tenant: "default" })) return;
    const named = { kind: "store_broken", severity: "critical", dedupe_key: "store_broken" };
    const sent = await this.#sendNow(type, summary, named);
    if (!sent.delivered) this.#options.log(`The channel \`${this.#id}\` did not get an urgent notice: ${sent.problem}`);
  }

  /** Once, without the log. */
  #sendNow(type: NoticeType, summary: string, data: JsonObject): Promise<Delivered> {
    const at = new Date(this.#options.clock.now()).toISOString();
    const id = `msg_${this.#state.series}_${randomBytes(8).toString("hex")}`;
    return this.#try({ id, type, at, tenant: "default", summary, data });
  }

  async retry(): Promise<number> {
    this.#gone = undefined;
    if (!this.#isSender) return this.#retryElsewhere();
    const { dead } = this.#state;
    this.#state = retried(this.#state, dead, this.#options.clock.now());
    await this.#save();
    this.#send();
    return dead.length;
  }

  /** The owner sees the change of the state and sends. */
  async #retryElsewhere(): Promise<number> {
    let again = 0;
    const { item } = await this.#states.change(this.#id, (stored) => {
      again = stored?.dead.length ?? 0;
      return stored && again > 0 ? { item: retried(stored, stored.dead, this.#options.clock.now()) } : undefined;
    });
    if (item !== undefined) this.#changedElsewhere(item);
    return again;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#following.dispose();
    this.#ending.abort();
    for (const cancel of Object.values(this.#cancels)) cancel?.();
    await this.#reading;
    if (this.#options.store.broken === undefined) await this.#save();
    await this.#saving;
    await this.#lease[Symbol.asyncDispose]();
  }

  /** Runs with each commit, so it reads nothing. Nearly always no entry needs a notice. */
  #follow(entries: readonly StoreEntry[]): void {
    const isLevel = !this.#isReading && !this.#mustLoad && this.#state.after === this.#last;
    this.#last = entries.at(-1)?.seq ?? this.#last;
    if (!this.#lease.isOwner) return;
    const isNone = entries.every(
      ({ event, body }) =>
        event?.moment === "attempted" ||
        (event?.moment === "ended" && event.approvalId === undefined) ||
        !mayHaveNotice(body),
    );
    if (isLevel && isNone) this.#state = { ...this.#state, after: this.#last };
    else this.#read();
  }

  #read(): void {
    if (this.#isReading) return;
    const problem = `The log could not be read for \`${this.#id}\``;
    this.#reading = this.#readOn().catch((error: unknown) => this.#options.log(`${problem}: ${messageOf(error)}`));
  }

  /** Ends in the turn in which it finds nothing more, so that the next commit starts another reading. */
  async #readOn(): Promise<void> {
    this.#isReading = true;
    try {
      if (this.#mustLoad) await this.#load();
      let isThere = true;
      while (isThere && this.#mayReadOn) {
        isThere = false;
        for await (const entry of this.#options.store.events({ after: this.#state.after, limit: entriesARead })) {
          isThere = true;
          if (!this.#hasRoom || !this.#isSender) break;
          this.#look(entry);
        }
        this.#send();
      }
    } finally {
      this.#isReading = false;
      this.#send();
    }
  }

  async #load(): Promise<void> {
    const stored = await this.#states.get(this.#id);
    this.#mustLoad = false;
    if (stored !== undefined) this.#become(stored);
  }

  get #hasRoom(): boolean {
    return this.#state.waiting.length < mostWaiting;
  }

  get #mayReadOn(): boolean {
    const isBehind = this.#state.after < this.#last;
    return this.#isSender && this.#hasRoom && isBehind && !this.#ending.signal.aborted;
  }

  #look({ seq, body }: StoreEntry): void {
    const entry = mayHaveNotice(body) ? eventIn(body) : undefined;
    const type = entry && noticeTypeOf(entry);
    const isWanted =
      type !== undefined && entry !== undefined && this.#options.channel.wants({ type, tenant: entry.tenant });
    const more = isWanted ? [{ seq, type, attempts: 0, nextAt: this.#options.clock.now() }] : [];
    this.#state = { ...this.#state, after: seq, waiting: [...this.#state.waiting, ...more] };
  }

  #send(): void {
    this.#cancels.next?.();
    this.#cancels.next = undefined;
    if (this.#ending.signal.aborted || !this.#isSender) return;
    const now = this.#options.clock.now();
    const idle = this.#state.waiting.filter(({ seq }) => !this.#sending.has(seq));
    for (const one of idle.filter(({ nextAt }) => nextAt <= now)) {
      if (this.#sending.size >= atOnce) return; // each that ends sends the next
      this.#sending.add(one.seq);
      void this.#sendOne(one);
    }
    const next = Math.min(...idle.filter(({ nextAt }) => nextAt > now).map(({ nextAt }) => nextAt));
    if (Number.isFinite(next)) this.#cancels.next = this.#options.clock.in(next - now, () => this.#send(), false);
  }

  async #sendOne(one: WaitingNotice): Promise<void> {
    const delivered = await this.#deliver(one.seq).catch(
      (error: unknown): Delivered => ({ delivered: false, problem: messageOf(error) }),
    );
    this.#sending.delete(one.seq);
    if (this.#ending.signal.aborted || !this.#isSender) return; // the next owner tries it again
    if (delivered.delivered) this.#taken(one);
    else this.#refused(one, delivered);
    this.#saveLater();
    this.#read();
    this.#send();
  }

  async #deliver(seq: number): Promise<Delivered> {
    const { store, approval, console, clock } = this.#options;
    for await (const { body } of store.events({ after: seq - 1, limit: 1 })) {
      const entry = eventIn(body);
      const type = entry && noticeTypeOf(entry);
      if (entry === undefined || type === undefined) break;
      const approvalId = approvalIn(entry);
      const asked = approvalId === undefined ? undefined : await approval(approvalId);
      const id = `msg_${this.#state.series}_${seq}`;
      const notice = noticeFrom({ id, type, entry, approval: asked, console: console() });
      if (isStillAsked(notice, clock.now())) return this.#try(notice);
    }
    return { delivered: true }; // nothing is left to say
  }

  async #try(notice: Notice): Promise<Delivered> {
    if (this.#gone !== undefined) return { delivered: false, problem: this.#gone, final: true };
    try {
      const delivered = await this.#options.channel.deliver(notice, this.#ending.signal);
      if (!delivered.delivered && delivered.gone === true) this.#gone = delivered.problem;
      return delivered;
    } catch (error) {
      return { delivered: false, problem: messageOf(error) };
    }
  }

  #taken({ seq }: WaitingNotice): void {
    const lastDeliveredAt = this.#options.clock.now();
    const waiting = this.#state.waiting.filter((other) => other.seq !== seq);
    this.#state = { ...this.#state, waiting, delivered: this.#state.delivered + 1, lastDeliveredAt };
    if (!this.#failing) return;
    this.#failing = false;
    const summary = `The channel \`${this.#id}\` delivers again.`;
    this.#note({ type: "channel.recovered", summary, outcome: "success", data: { channel: this.#id } });
  }

  #refused(
    one: WaitingNotice,
    { problem, final = false, retryAfterMs: asked = 0 }: Delivered & { delivered: false },
  ): void {
    const { clock, random } = this.#options;
    const others = this.#state.waiting.filter(({ seq }) => seq !== one.seq);
    const attempts = one.attempts + 1;
    const waitMs = retryAfterMs(one, random());
    const nextAt = clock.now() + Math.max(asked, waitMs ?? 0);
    if (final || waitMs === undefined) this.#giveUp({ ...one, attempts }, problem, others);
    else this.#state = { ...this.#state, waiting: [...others, { ...one, attempts, nextAt, problem }] };
  }

  #giveUp({ seq, type, attempts }: WaitingNotice, problem: string, waiting: readonly WaitingNotice[]): void {
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

  /** Only the owner saves, also after a lost race. */
  #save(): Promise<void> {
    this.#saving = this.#saving
      .then(async () => {
        await this.#states.change(this.#id, () => (this.#isSender ? { item: this.#state } : undefined));
      })
      .catch((error: unknown) => this.#unsaved(error));
    return this.#saving;
  }

  #unsaved(error: unknown): void {
    this.#options.log(`The state of the channel \`${this.#id}\` could not be written: ${messageOf(error)}`);
  }

  #unreadable(): undefined {
    this.#options.log(`The saved state of the channel \`${this.#id}\` is not what Postern writes; it starts again.`);
  }
}
