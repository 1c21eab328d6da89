import type { FeedReader, FeedSubscription, ResetReason } from "../../src/observe/feed.ts";
import type { FeedEvent, FeedFilter } from "../../src/observe/feed-event.ts";
import type { RuntimeFixture } from "./runtime-fixture.ts";

/** The filter of a reader that may read every event. */
export const all: FeedFilter = { tenant: "default", also: "everything" };

/** A reader of the feed that records its events. */
export class FeedRecorder implements FeedReader {
  readonly heard: FeedEvent[] = [];
  readonly lists: (readonly FeedEvent[])[] = [];
  readonly resets: [id: string, reason: ResetReason][] = [];
  beats = 0;
  ended = false;
  deaf = false;
  take(events: readonly FeedEvent[]): boolean {
    this.heard.push(...events);
    this.lists.push(events);
    return !this.deaf;
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
    return this.heard.map(({ type }) => type);
  }
  get last(): string {
    return this.heard.at(-1)?.id ?? "";
  }
}

/** Subscribes the reader to the feed. */
export async function listen(
  h: RuntimeFixture,
  filter: FeedFilter = all,
  after?: string,
): Promise<FeedRecorder & { readonly seat: FeedSubscription }> {
  const ears = new FeedRecorder();
  const seat = await h.runtime.feed.open(filter, after, ears);
  if (seat === undefined) throw new Error("no seat");
  return Object.assign(ears, { seat });
}
