import { z } from "zod";
import { component, cursor, jsonObject, limit, optional, reasonFields, search, text, when, whole } from "./fields.ts";
import { route, type View } from "./route.ts";

const state = z.enum(["open", "acked", "resolved"]);
const change = component("AlarmChange", { ...optional({ by: text, via: text }), at: when, reason: text.optional() });
export type AlarmChangeView = View<typeof change>;

export const alarm = component("Alarm", {
  alarm_id: text,
  kind: text,
  state,
  severity: z.enum(["warning", "critical"]),
  summary: text,
  dedupe_key: text,
  count: whole,
  first_seen: when,
  last_seen: when,
  ...optional({ acked: change, resolved: change }),
  data: jsonObject,
});
export type AlarmView = View<typeof alarm>;

const page = z.object({ alarms: z.array(alarm), next_after: text.optional() });
export type AlarmPageView = View<typeof page>;

export const alarms = {
  list: route("get", "/v1/alarms", "alarms:read", {
    summary: "Problems that a person should look at: open ones first, then the latest.",
    query: search({
      state: state.describe("Only in this state."),
      limit,
      after: cursor("open", "acked", "resolved"),
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
