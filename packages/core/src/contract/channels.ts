import { z } from "zod";
import { component, each, flag, optional, text, when, whole } from "./fields.ts";
import { route, type View } from "./route.ts";

export const channel = component("Channel", {
  ...each(text, "name", "kind", "target"),
  waiting: whole,
  problem: text.optional(),
  delivered: whole,
  last_delivered_at: when.optional(),
  dead: z.array(z.object({ entry: whole, type: text, at: when, attempts: whole, problem: text })),
});
export type ChannelView = View<typeof channel>;

export const channels = {
  list: route("get", "/v1/channels", "channels:read", {
    summary: "Where people are notified: what waits, and what was given up and why.",
    answer: z.object({ channels: z.array(channel) }),
  }),
  test: route("post", "/v1/channels/{name}/test", "channels:write", {
    summary: "Send one notice that says it is only a test.",
    answer: z.object({ delivered: flag, problem: text.optional() }),
  }),
  retry: route("post", "/v1/channels/{name}/retry", "channels:write", {
    summary: "Try again what was given up.",
    answer: z.object({ retried: whole }),
  }),
  decide: route("post", "/v1/channels/{name}/decisions", "nothing", {
    countsRefusals: true,
    summary: "A decision from a channel, signed with the channel's secret (Standard Webhooks).",
    rawBody: true,
    answer: z.object({ approval_id: text, status: text, decided_as: text.optional() }),
  }),
  slack: route("post", "/v1/channels/{name}/slack", "nothing", {
    countsRefusals: true,
    summary: "Interactions of an app of Slack: pressed buttons and filled-in dialogs, signed by Slack.",
    rawBody: true,
    answer: z.object(optional({ response_action: z.enum(["clear", "errors"]), errors: z.record(text, text) })),
  }),
};
