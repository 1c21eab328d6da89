import type { FeedReader, FeedSubscription, ResetReason } from "../../packages/postern/src/observe/feed.ts";
import type { FeedEvent, FeedFilter } from "../../packages/postern/src/observe/feed-event.ts";
import type { RuntimeFixture } from "./runtime-fixture.ts";

/** The filter of a reader that may read every event. */
export const all: FeedFilter = { tenant: "default", also: "everything" };

/** A reader of the feed that records its events. */
export class FeedRecorder implements FeedReader {
  readonly events: FeedEvent[] = [];
  readonly lists: (readonly FeedEvent[])[] = [];
  readonly resets: [id: string, reason: ResetReason][] = [];
  beats = 0;
  ended = false;
  refuses = false;
  take(events: readonly FeedEvent[]): boolean {
    this.events.push(...events);
    this.lists.push(events);
    return !this.refuses;
  }
  reset(id: string, reason: ResetReason): void {
    this.resets.push([id, reason]);
  }
  beat(): void {
    this.beats += 1;
  }
  end(): void {
    this.ended = true;
  }
  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }
  get last(): string {
    return this.events.at(-1)?.id ?? "";
  }
}

/** Subscribes the reader to the feed. */
export async function listen(
  h: RuntimeFixture,
  filter: FeedFilter = all,
  after?: string,
): Promise<FeedRecorder & { readonly subscription: FeedSubscription }> {
  const reader = new FeedRecorder();
  const subscription = await h.runtime.feed.open(filter, after, reader);
  if (subscription === undefined) throw new Error("the feed has no room");
  return Object.assign(reader, { subscription });
}
