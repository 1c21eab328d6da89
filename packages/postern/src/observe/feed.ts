/**
 * The live feed: events for pages and terminals that are open now.
 *
 * Invariant: no call waits for a reader, and without readers a call pays nothing. Entries of the audit log are sent after
 * their commit and can be sent again from the log; progress and arrivals can not. A reader that missed events gets a
 * `reset` and reloads.
 * Next: feed-event.ts (what an event is), live-feed.ts (how it is sent).
 */
import { checkMember, checkMembers, type Kind } from "@postern/core";
import type { FeedEvent, FeedFilter } from "./feed-event.ts";

/**
 * Why a reader must reload: it was away too long, it was too slow, or there were too many events.
 *
 * @public
 */
export type ResetReason = "too_old" | "too_slow" | "too_many";

/**
 * A page or terminal that follows the feed. Contract: nothing here throws or waits.
 *
 * @public
 */
export interface FeedReader {
  /** In order, and each list the same object for all readers with the same filter. Returns false if it cannot take more. */
  take(events: readonly FeedEvent[]): boolean;
  /** It misses events and continues after `id`. After `too_slow` it gets no more events. */
  reset(id: string, reason: ResetReason): void;
  /** Every 15 s, so that both ends notice a dead line. */
  beat(): void;
  /** The feed ends. */
  end(): void;
}

/** @public */
export interface Feed {
  /** The id of the last event. A reader that begins after it misses nothing. */
  readonly last: string;
  /**
   * Sends a reader the events from now on, or since the event `after` if that is still known.
   *
   * @returns where it begins, and how to stop; undefined if there are too many readers
   */
  open(filter: FeedFilter, after: string | undefined, reader: FeedReader): Promise<FeedSubscription | undefined>;
}

/** @public */
export interface FeedSubscription extends Disposable {
  readonly from: string;
}

const ofFeed: Readonly<Record<keyof FeedFilter, Kind>> = {
  tenant: "a text",
  principal: "an object",
  also: ["nothing", "alarms", "everything"],
  types: "a list of texts",
  runId: "a text",
  traceId: "a text",
};
const ofReader: Readonly<Record<keyof FeedReader, Kind>> = {
  take: "a function",
  reset: "a function",
  beat: "a function",
  end: "a function",
};

/** @throws RuntimeFault `request_invalid` for an invalid filter, place or reader */
export function checkOpening(filter: FeedFilter, after: string | undefined, reader: FeedReader): void {
  checkMembers(filter, {
    ...{ code: "request_invalid", what: "The filter", members: ofFeed },
    ...{ needed: ["tenant", "also"], of: "the feed" },
  });
  const code = "request_invalid";
  if (after !== undefined) checkMember("after", after, "a text", code);
  checkMembers(reader, { code, what: "The reader", members: ofReader, needed: Object.keys(ofReader) });
}
