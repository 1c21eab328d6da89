import { z } from "@hono/zod-openapi";
import { cursor, jsonObject, limit, reasonFields, text, when, whole } from "./fields.ts";
import { route, type View } from "./route.ts";

const state = z.enum(["open", "acked", "resolved"]);
const change = z
  .object({ by: text.optional(), via: text.optional(), at: when, reason: text.optional() })
  .openapi("AlarmChange");

export type AlarmChangeView = View<typeof change>;

export const alarm = z
  .object({
    alarm_id: text,
    kind: text,
    state,
    severity: z.enum(["warning", "critical"]),
    summary: text,
    dedupe_key: text,
    count: whole,
    first_seen: when,
    last_seen: when,
    acked: change.optional(),
    resolved: change.optional(),
    data: jsonObject,
  })
  .openapi("Alarm");
export type AlarmView = View<typeof alarm>;

const page = z.object({ alarms: z.array(alarm), next_after: text.optional() });
export type AlarmPageView = View<typeof page>;

export const alarms = {
  list: route("get", "/v1/alarms", "alarms:read", {
    summary: "Problems that a person should look at: open ones first, then the latest.",
    query: z.strictObject({
      state: state.optional().describe("Only in this state."),
      limit: limit.optional(),
      after: cursor("open", "acked", "resolved").optional(),
    }),
    answer: page,
  }),
  ack: route("post", "/v1/alarms/{id}/ack", "alarms:write", {
    summary: "Say that you know of it. It sends no more notices until it is resolved.",
    body: reasonFields,
    answer: alarm,
  }),
  resolve: route("post", "/v1/alarms/{id}/resolve", "alarms:write", {
    summary: "Say that it is over. When its cause comes again, it opens again.",
    body: reasonFields,
    answer: alarm,
  }),
};
