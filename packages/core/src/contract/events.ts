import { z } from "zod";
import { eventTypes, jsonObject, name, optional, runId, search, text, traceId, when } from "./fields.ts";
import { route, type View } from "./route.ts";

/** One event of the feed (docs/reference/events.md): no arguments, results or secrets. */
export const feedEvent = z.object({
  id: text,
  type: text,
  at: when,
  ...optional({ run_id: text, call_id: text, approval_id: text }),
  trace_id: text,
  agent: text,
  tool: text.optional(),
  summary: text,
  data: jsonObject,
});
export type FeedEventView = View<typeof feedEvent>;

export const events = {
  follow: route("get", "/v1/events", "events:read", {
    summary: "Events as they happen: server-sent events, resumed by `Last-Event-ID`.",
    query: search({
      type: eventTypes,
      run_id: runId,
      trace_id: traceId,
      after: name.describe("As the header `Last-Event-ID`: events after this one."),
    }),
    answer: "text/event-stream",
  }),
};
