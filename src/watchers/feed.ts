/**
 * The live feed: what happened, told to pages and terminals while they look.
 *
 * Invariant: it waits for nobody and keeps nothing for a reader that does not read; while nobody reads it costs a call
 * nothing. Entries of the audit log are told after they were committed, and can be told again from the log itself;
 * what is only announced (progress, arrivals) can not. Whoever was told too little gets a `reset` and reads anew.
 * Next: feed-event.ts (what is told), live-feed.ts (how).
 */
import type { FeedEvent, FeedFilter } from "./feed-event.ts";

/**
 * Why a reader must read anew: it was away too long, too slow, or more happens than is told.
 *
 * @public
 */
export type ResetReason = "too_old" | "too_slow" | "too_many";

/**
 * Who is told. Nothing here may throw or wait.
 *
 * @public
 */
export interface FeedReader {
  /** In order, and each list the same object for all readers with the same filter. False: it cannot take more. */
  take(events: readonly FeedEvent[]): boolean;
  /** Things happened that it is not told of; it goes on after `id`. With `too_slow` it is not told anything more. */
  reset(id: string, reason: ResetReason): void;
  /** Every 15 s, so that both ends notice a dead line. */
  beat(): void;
  /** The feed ends. */
  end(): void;
}

/** @public */
export interface Feed {
  /** The id of the last thing that happened: who begins after it misses nothing of what it did not see by now. */
  readonly last: string;
  /**
   * Tells a reader what happens from now on, or since the event `after` as far as that is still known.
   *
   * @returns where it begins, and how to stop; undefined when there are too many readers already
   */
  open(filter: FeedFilter, after: string | undefined, reader: FeedReader): Promise<FeedSeat | undefined>;
}

/** @public */
export interface FeedSeat extends Disposable {
  readonly from: string;
}
