import { checkMember, checkMembers, type Kind } from "../core/checked-members.ts";
import type { FeedReader } from "./feed.ts";
import type { FeedFilter } from "./feed-event.ts";

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

/** @throws RuntimeFault `filter_invalid`, or `request_invalid` for a place or a reader that is none */
export function checkOpening(filter: FeedFilter, after: string | undefined, reader: FeedReader): void {
  checkMembers(filter, {
    ...{ code: "filter_invalid", what: "The filter", members: ofFeed },
    ...{ needed: ["tenant", "also"], of: "the feed" },
  });
  const code = "request_invalid";
  if (after !== undefined) checkMember("after", after, "a text", code);
  checkMembers(reader, { code, what: "The reader", members: ofReader, needed: Object.keys(ofReader) });
}
