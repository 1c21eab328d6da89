import { type CallEvent, type Clock, messageOf, type Watcher } from "@postern/core";
import type { Store } from "../store/store.ts";
import { checkOpening, type Feed, type FeedReader, type FeedSubscription } from "./feed.ts";
import {
  type FeedEvent,
  type FeedFilter,
  fromAnnounced,
  fromEntry,
  idOf,
  placeFrom,
  placeOf,
  seqOf,
  shownTo,
  type TimedEvent,
} from "./feed-event.ts";

export interface FeedOptions {
  readonly store: Pick<Store, "events" | "follow">;
  readonly watch: (watcher: Watcher) => Disposable;
  /** Entries that are committed. */
  readonly size: () => number;
  readonly clock: Clock;
  /** Masks what is announced; entries of the log were masked when they were written. */
  readonly redact: (text: string) => string;
  readonly log: (problem: string) => void;
}

interface Subscription {
  readonly key: string;
  readonly filter: FeedFilter;
  readonly reader: FeedReader;
  /** It was sent everything up to here. */
  place: number;
  /** How many events it was sent in which second. */
  second: number;
  sent: number;
  /** The second in which events were left out; the reset is still to come. */
  floodedIn: number | undefined;
}

interface FeedBatch {
  readonly events: readonly { readonly place: number; readonly event: FeedEvent }[];
  /** The place of the last event. */
  readonly last: number;
  readonly isFlood: boolean;
  /** Whole seconds. */
  readonly now: number;
  /** By filter: the list for all readers that have no backlog. */
  readonly lists: Map<string, readonly FeedEvent[]>;
}

type Pending = TimedEvent | { readonly place: number; readonly body: string };

const mostReaders = 256;
/** Events are sent in batches, so a burst costs each reader one write. */
const sendEveryMs = 25;
const beatEveryMs = 15_000;
/** The feed runs on for so long after its last reader left, so that it can reconnect without a gap. */
const lingerMs = 60_000;
const mostRecent = 2_048;
/** A reader that is further behind is faster if it reloads. */
const mostFromLog = 2_000;
/** No person can read more in a second. */
const mostASecond = 1_000;

export class LiveFeed implements Feed, Disposable {
  readonly #options: FeedOptions;
  readonly #subscriptions = new Set<Subscription>();
  /** The last ones that were sent, old to new. */
  #recent: FeedBatch["events"][number][] = [];
  #pending: Pending[] = [];
  /** Only the last progress of each call is sent. */
  readonly #progress = new Map<string, Pending>();
  /** Whether pending events were dropped. */
  #isOverflown = false;
  #seq = -1;
  #step = 0;
  #recentFrom = 0;
  #following: readonly Disposable[] = [];
  #cancels: { send?: (() => void) | undefined; beat?: () => void; linger?: (() => void) | undefined } = {};

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get last(): string {
    return idOf(this.#following.length > 0 ? this.#now() : placeOf(this.#options.size() - 1, 0));
  }

  async open(filter: FeedFilter, after: string | undefined, reader: FeedReader): Promise<FeedSubscription | undefined> {
    checkOpening(filter, after, reader);
    if (this.#subscriptions.size >= mostReaders) return undefined;
    this.#start();
    const subscription: Subscription = {
      key: JSON.stringify(filter),
      filter,
      reader,
      place: this.#now(),
      second: 0,
      sent: 0,
      floodedIn: undefined,
    };
    const from = after === undefined ? undefined : (placeFrom(after) ?? -1);
    if (from === undefined) this.#subscriptions.add(subscription);
    else await this.#catchUp(subscription, from);
    const leave = (): void => {
      if (this.#subscriptions.delete(subscription) && this.#subscriptions.size === 0) this.#linger();
    };
    return { from: idOf(subscription.place), [Symbol.dispose]: leave };
  }

  /** Not a verb of the feed: a runtime that stops ends all its readers. */
  static endReaders(feed: LiveFeed): void {
    for (const { reader } of feed.#subscriptions) reader.end();
    feed.#subscriptions.clear();
  }

  [Symbol.dispose](): void {
    LiveFeed.endReaders(this);
    this.#stop();
  }

  #now(): number {
    return placeOf(this.#seq, this.#step);
  }

  /** From memory, else from the log. New entries are read too. */
  async #catchUp(subscription: Subscription, from: number): Promise<void> {
    const known = from >= this.#recentFrom || seqOf(this.#now()) - seqOf(from) <= mostFromLog;
    if (from < 0 || from > this.#now() || !known) {
      this.#subscriptions.add(subscription);
      return subscription.reader.reset(idOf(subscription.place), "too_old");
    }
    subscription.place = from;
    while (subscription.place < this.#recentFrom) {
      const before = subscription.place;
      for await (const { seq, body } of this.#options.store.events({
        after: seqOf(subscription.place),
        limit: mostFromLog,
      })) {
        subscription.place = placeOf(seq, 0);
        const event = shownTo(fromEntry(seq, body), subscription.filter);
        if (event !== undefined) subscription.reader.take([event]);
      }
      if (subscription.place === before) break; // it was only announced, and is in no log
    }
    const missed = eventsFor(this.#recent, subscription);
    if (missed.length > 0) subscription.reader.take(missed);
    subscription.place = Math.max(subscription.place, this.#recent.at(-1)?.place ?? 0);
    this.#subscriptions.add(subscription);
  }

  /** Follows the log from its last entry. Without readers, the feed does not follow. */
  #start(): void {
    this.#cancels.linger?.();
    this.#cancels.linger = undefined;
    if (this.#following.length > 0) return;
    const { store, watch, size, clock } = this.#options;
    this.#following = [
      store.follow((entries) => {
        for (const { seq, body } of entries) {
          if (seq <= this.#seq) continue;
          this.#seq = seq;
          this.#step = 0;
          this.#add({ place: placeOf(seq, 0), body });
        }
      }),
      watch((event) => this.#announce(event)),
    ];
    this.#seq = size() - 1;
    this.#step = 0;
    this.#recentFrom = this.#now();
    const beat = (): void => {
      for (const { reader } of this.#subscriptions) reader.beat();
      this.#cancels.beat = clock.in(beatEveryMs, beat, false);
    };
    this.#cancels.beat = clock.in(beatEveryMs, beat, false);
  }

  #linger(): void {
    this.#cancels.linger = this.#options.clock.in(lingerMs, () => this.#stop(), false);
  }

  #stop(): void {
    for (const following of this.#following) following[Symbol.dispose]();
    for (const cancel of Object.values(this.#cancels)) cancel?.();
    this.#cancels = {};
    this.#following = [];
    this.#recent = [];
    this.#pending = [];
    this.#progress.clear();
  }

  #announce(event: CallEvent): void {
    if (
      event.moment !== "arrived" &&
      event.moment !== "progressed" &&
      event.moment !== "emitted" &&
      event.moment !== "left"
    )
      return;
    this.#step += 1;
    const pending = { place: this.#now(), announced: event, at: this.#options.clock.now() };
    if (event.moment === "progressed") {
      this.#progress.set(event.call.id, pending);
      this.#sendLater();
    } else this.#add(pending);
  }

  #add(pending: Pending): void {
    if (this.#pending.length >= mostRecent) {
      this.#pending = [];
      this.#isOverflown = true;
    }
    this.#pending.push(pending);
    this.#sendLater();
  }

  #sendLater(): void {
    this.#cancels.send ??= this.#options.clock.in(sendEveryMs, () => this.#send(), false);
  }

  #send(): void {
    this.#cancels.send = undefined;
    const now = Math.floor(this.#options.clock.monotonic() / 1000);
    const pending =
      this.#progress.size === 0
        ? this.#pending
        : [...this.#pending, ...this.#progress.values()].sort((a, b) => a.place - b.place);
    // If every reader had too much in this second, nothing is made.
    const isFlood =
      this.#isOverflown ||
      (this.#subscriptions.size > 0 &&
        [...this.#subscriptions].every((subscription) => subscription.floodedIn === now));
    const events: FeedBatch["events"] = isFlood ? [] : pending.flatMap((one) => this.#eventsOf(one));
    const last = pending.at(-1)?.place ?? this.#now();
    this.#pending = [];
    this.#progress.clear();
    this.#isOverflown = false;
    this.#remember(events, isFlood ? last : undefined);
    const batch: FeedBatch = { events, last, isFlood: isFlood && pending.length > 0, now, lists: new Map() };
    for (const subscription of [...this.#subscriptions]) this.#sendTo(subscription, batch);
    if ([...this.#subscriptions].some(({ floodedIn }) => floodedIn !== undefined)) this.#sendLater();
  }

  #eventsOf(pending: Pending): FeedBatch["events"] {
    const { place } = pending;
    try {
      const event =
        "body" in pending ? fromEntry(seqOf(place), pending.body) : fromAnnounced(pending, this.#options.redact);
      return [{ place, event }];
    } catch (error) {
      this.#options.log(`An event could not be sent to the readers of the feed: ${messageOf(error)}`);
      return [];
    }
  }

  #remember(events: FeedBatch["events"], lostUpTo: number | undefined): void {
    if (lostUpTo !== undefined) {
      this.#recent = [];
      this.#recentFrom = lostUpTo;
    }
    this.#recent.push(...events);
    if (this.#recent.length <= mostRecent) return;
    const over = this.#recent.length - mostRecent / 2;
    this.#recentFrom = this.#recent[over - 1]?.place ?? this.#recentFrom;
    this.#recent = this.#recent.slice(over);
  }

  #sendTo(subscription: Subscription, { events, last, isFlood, now, lists }: FeedBatch): void {
    const before = subscription.place;
    if (now !== subscription.second) {
      // The reset stands after all that was left out.
      if (subscription.floodedIn !== undefined) subscription.reader.reset(idOf(before), "too_many");
      Object.assign(subscription, { second: now, sent: 0, floodedIn: undefined });
    }
    if (last <= before) return;
    subscription.place = last;
    const isUpToDate = before < (events[0]?.place ?? 0);
    const known = isUpToDate ? lists.get(subscription.key) : undefined;
    const wanted = known ?? eventsFor(events, { place: before, filter: subscription.filter });
    if (isUpToDate) lists.set(subscription.key, wanted);
    subscription.sent += wanted.length;
    if (isFlood || subscription.sent > mostASecond) {
      subscription.floodedIn = now;
      return;
    }
    if (wanted.length === 0 || subscription.reader.take(wanted)) return;
    subscription.reader.reset(idOf(last), "too_slow");
    this.#subscriptions.delete(subscription);
    if (this.#subscriptions.size === 0) this.#linger();
  }
}

/** Those after its place that its filter lets through. */
function eventsFor(
  events: FeedBatch["events"],
  { place: after, filter }: Pick<Subscription, "place" | "filter">,
): FeedEvent[] {
  return events.flatMap(({ place, event }) => (place > after ? (shownTo(event, filter) ?? []) : []));
}
