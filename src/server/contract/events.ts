import { z } from "@hono/zod-openapi";
import { jsonObject, name, runId, text, traceId, when } from "./fields.ts";
import { route, type View } from "./route.ts";

/** One event of the feed (docs/reference/events.md): no arguments, results or secrets. */
export const feedEvent = z.object({
  id: text,
  type: text,
  at: when,
  run_id: text.optional(),
  call_id: text.optional(),
  approval_id: text.optional(),
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
    query: z.strictObject({
      type: z
        .string()
        .min(1)
        .max(1_000)
        .optional()
        .openapi({ description: "Types, separated by commas. A type that ends in `.` is a prefix." }),
      run_id: runId.optional(),
      trace_id: traceId.optional(),
      after: name.optional().openapi({ description: "As the header `Last-Event-ID`: events after this one." }),
    }),
    answer: "text/event-stream",
  }),
};
