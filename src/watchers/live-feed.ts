import type { Clock } from "../calls/clock.ts";
import type { CallEvent } from "../calls/event.ts";
import { messageOf } from "../calls/fault.ts";
import type { Store } from "../stores/store.ts";
import { checkOpening } from "./checked-feed.ts";
import type { Feed, FeedReader, FeedSeat } from "./feed.ts";
import {
  type FeedEvent,
  type FeedFilter,
  fromAnnounced,
  fromEntry,
  idOf,
  placeFrom,
  placeOf,
  seqOf,
  type Told,
  toldAs,
} from "./feed-event.ts";
import type { Watcher } from "./watcher.ts";

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

interface Seat {
  readonly key: string;
  readonly filter: FeedFilter;
  readonly reader: FeedReader;
  /** What it has been told, up to here. */
  place: number;
  /** How many in which second. */
  second: number;
  told: number;
  /** The second in which some were left out, of which it is not told yet. */
  floodedIn: number | undefined;
}

interface Batch {
  readonly events: readonly { readonly place: number; readonly event: FeedEvent }[];
  /** The place of the last thing that happened. */
  readonly last: number;
  readonly isFlood: boolean;
  /** Whole seconds. */
  readonly now: number;
  /** By filter: what readers that are level are told. */
  readonly lists: Map<string, readonly FeedEvent[]>;
}

type Fresh = Told | { readonly place: number; readonly body: string };

const mostReaders = 256;
/** Readers are told together, at most so often: a burst costs each of them one write. */
const tellEveryMs = 25;
const beatEveryMs = 15_000;
/** After the last reader has gone it may come back and miss nothing. */
const lingerMs = 60_000;
const mostKept = 2_048;
/** Further behind than this a reader is quicker reading anew. */
const mostFromLog = 2_000;
/** Nobody can look at more in a second. */
const mostASecond = 1_000;

export class LiveFeed implements Feed, Disposable {
  readonly #options: FeedOptions;
  readonly #seats = new Set<Seat>();
  /** Told already, the last ones, old to new. */
  #kept: Batch["events"][number][] = [];
  #fresh: Fresh[] = [];
  /** Of one call only its last word counts, when they come faster than they are told. */
  readonly #progress = new Map<string, Fresh>();
  /** Some of `#fresh` were let go: the pump was held up while much happened. */
  #overran = false;
  #seq = -1;
  #step = 0;
  #keptFrom = 0;
  #following: readonly Disposable[] = [];
  #cancels: { tell?: (() => void) | undefined; beat?: () => void; linger?: (() => void) | undefined } = {};

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get last(): string {
    return idOf(this.#following.length > 0 ? this.#now() : placeOf(this.#options.size() - 1, 0));
  }

  async open(filter: FeedFilter, after: string | undefined, reader: FeedReader): Promise<FeedSeat | undefined> {
    checkOpening(filter, after, reader);
    if (this.#seats.size >= mostReaders) return undefined;
    this.#wake();
    const seat: Seat = {
      key: JSON.stringify(filter),
      filter,
      reader,
      place: this.#now(),
      second: 0,
      told: 0,
      floodedIn: undefined,
    };
    const from = after === undefined ? undefined : (placeFrom(after) ?? -1);
    if (from === undefined) this.#seats.add(seat);
    else await this.#catchUp(seat, from);
    const leave = (): void => {
      if (this.#seats.delete(seat) && this.#seats.size === 0) this.#linger();
    };
    return { from: idOf(seat.place), [Symbol.dispose]: leave };
  }

  [Symbol.dispose](): void {
    for (const { reader } of this.#seats) reader.end();
    this.#seats.clear();
    this.#sleep();
  }

  #now(): number {
    return placeOf(this.#seq, this.#step);
  }

  /** From what is kept here, else from the log. Entries that come meanwhile are read as well, until it is level. */
  async #catchUp(seat: Seat, from: number): Promise<void> {
    const known = from >= this.#keptFrom || seqOf(this.#now()) - seqOf(from) <= mostFromLog;
    if (from < 0 || from > this.#now() || !known) {
      this.#seats.add(seat);
      return seat.reader.reset(idOf(seat.place), "too_old");
    }
    seat.place = from;
    while (seat.place < this.#keptFrom) {
      const before = seat.place;
      for await (const { seq, body } of this.#options.store.events({ after: seqOf(seat.place), limit: mostFromLog })) {
        seat.place = placeOf(seq, 0);
        const event = toldAs(fromEntry(seq, body), seat.filter);
        if (event !== undefined) seat.reader.take([event]);
      }
      if (seat.place === before) break; // announced after the last entry, and gone
    }
    const missed = toldOf(this.#kept, seat);
    if (missed.length > 0) seat.reader.take(missed);
    seat.place = Math.max(seat.place, this.#kept.at(-1)?.place ?? 0);
    this.#seats.add(seat);
  }

  /** Follows from the entry that is the last one now; nothing is told while nobody reads. */
  #wake(): void {
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
    this.#keptFrom = this.#now();
    const beat = (): void => {
      for (const { reader } of this.#seats) reader.beat();
      this.#cancels.beat = clock.in(beatEveryMs, beat, false);
    };
    this.#cancels.beat = clock.in(beatEveryMs, beat, false);
  }

  #linger(): void {
    this.#cancels.linger = this.#options.clock.in(lingerMs, () => this.#sleep(), false);
  }

  #sleep(): void {
    for (const following of this.#following) following[Symbol.dispose]();
    for (const cancel of Object.values(this.#cancels)) cancel?.();
    this.#cancels = {};
    this.#following = [];
    this.#kept = [];
    this.#fresh = [];
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
    const fresh = { place: this.#now(), announced: event, at: this.#options.clock.now() };
    if (event.moment === "progressed") {
      this.#progress.set(event.call.id, fresh);
      this.#tellLater();
    } else this.#add(fresh);
  }

  #add(fresh: Fresh): void {
    if (this.#fresh.length >= mostKept) {
      this.#fresh = [];
      this.#overran = true;
    }
    this.#fresh.push(fresh);
    this.#tellLater();
  }

  #tellLater(): void {
    this.#cancels.tell ??= this.#options.clock.in(tellEveryMs, () => this.#tell(), false);
  }

  #tell(): void {
    this.#cancels.tell = undefined;
    const now = Math.floor(this.#options.clock.monotonic() / 1000);
    const fresh =
      this.#progress.size === 0
        ? this.#fresh
        : [...this.#fresh, ...this.#progress.values()].sort((a, b) => a.place - b.place);
    // Under a flood nobody is told anything in this second any more: then nothing is spelled either.
    const isFlood = this.#overran || (this.#seats.size > 0 && [...this.#seats].every((seat) => seat.floodedIn === now));
    const events: Batch["events"] = isFlood ? [] : fresh.flatMap((one) => this.#spelled(one));
    const last = fresh.at(-1)?.place ?? this.#now();
    this.#fresh = [];
    this.#progress.clear();
    this.#overran = false;
    this.#keep(events, isFlood ? last : undefined);
    const batch: Batch = { events, last, isFlood: isFlood && fresh.length > 0, now, lists: new Map() };
    for (const seat of [...this.#seats]) this.#tellSeat(seat, batch);
    if ([...this.#seats].some(({ floodedIn }) => floodedIn !== undefined)) this.#tellLater();
  }

  #spelled(fresh: Fresh): Batch["events"] {
    const { place } = fresh;
    try {
      const event = "body" in fresh ? fromEntry(seqOf(place), fresh.body) : fromAnnounced(fresh, this.#options.redact);
      return [{ place, event }];
    } catch (error) {
      this.#options.log(`An event could not be told to those who look on: ${messageOf(error)}`);
      return [];
    }
  }

  #keep(events: Batch["events"], lostUpTo: number | undefined): void {
    if (lostUpTo !== undefined) {
      this.#kept = [];
      this.#keptFrom = lostUpTo;
    }
    this.#kept.push(...events);
    if (this.#kept.length <= mostKept) return;
    const over = this.#kept.length - mostKept / 2;
    this.#keptFrom = this.#kept[over - 1]?.place ?? this.#keptFrom;
    this.#kept = this.#kept.slice(over);
  }

  #tellSeat(seat: Seat, { events, last, isFlood, now, lists }: Batch): void {
    const before = seat.place;
    if (now !== seat.second) {
      // Only now, so that it stands after all that was left out.
      if (seat.floodedIn !== undefined) seat.reader.reset(idOf(before), "too_many");
      Object.assign(seat, { second: now, told: 0, floodedIn: undefined });
    }
    if (last <= before) return;
    seat.place = last;
    const isLevel = before < (events[0]?.place ?? 0);
    const known = isLevel ? lists.get(seat.key) : undefined;
    const wanted = known ?? toldOf(events, { place: before, filter: seat.filter });
    if (isLevel) lists.set(seat.key, wanted);
    seat.told += wanted.length;
    if (isFlood || seat.told > mostASecond) {
      seat.floodedIn = now;
      return;
    }
    if (wanted.length === 0 || seat.reader.take(wanted)) return;
    seat.reader.reset(idOf(last), "too_slow");
    this.#seats.delete(seat);
    if (this.#seats.size === 0) this.#linger();
  }
}

/** What a reader is told of these: what stands after its place, as far as it is for it. */
function toldOf(events: Batch["events"], { place: after, filter }: Pick<Seat, "place" | "filter">): FeedEvent[] {
  return events.flatMap(({ place, event }) => (place > after ? (toldAs(event, filter) ?? []) : []));
}
