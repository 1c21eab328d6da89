import { z } from "zod";
import { component, optional, text, texts, when, whole } from "./fields.ts";
import { route, type View } from "./route.ts";

/** In this order. */
const kind = z.enum(["approvals", "unknown", "scripts", "memory", "tools", "servers", "channels", "sign_ins"]);
export type NeedKind = View<typeof kind>;

const item = z.object({
  id: text.describe("Of the call, the candidate, the tool, the server or the channel."),
  name: text,
  ...optional({ text, agent: text, run_id: text, at: when }),
});
export type NeedItem = View<typeof item>;

const need = component("Need", {
  kind,
  count: whole.describe("How many there are."),
  more: z.literal(true).optional().describe("There are more than were counted."),
  for_you: whole.describe("How many of them you may act on."),
  roles: texts.describe("Roles that may act on them."),
  by_risk: z.object({ critical: whole, high: whole, medium: whole, safe: whole }).optional(),
  items: z.array(item).describe("The first 20."),
});
export type NeedView = View<typeof need>;

export const needs = {
  list: route("get", "/v1/needs", "alarms:read", {
    summary: "What needs a person, by kind. A kind that you may not read, or of which there is nothing, is left out.",
    answer: component("Needs", {
      for_you: whole.describe("Of all kinds, those you may act on."),
      needs: z.array(need),
    }),
  }),
};
