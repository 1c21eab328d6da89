import { z } from "@hono/zod-openapi";
import { namePattern } from "../../secrets/secret-name.ts";
import { autonomy, reason, reasonFields, text, when } from "./fields.ts";
import { route, type View } from "./route.ts";

const change = z.object({
  at: when,
  by: text,
  via: text.optional().openapi({ description: "The credential. Old changes were kept without it." }),
  change: text,
  value: text.optional(),
  reason: text.optional(),
});
export type ControlChangeView = View<typeof change>;

export const controlState = z
  .object({
    paused: z.boolean(),
    paused_by: change.omit({ change: true, value: true }).optional(),
    autonomy: autonomy.nullable().openapi({ description: "Null: thresholds decide." }),
    off_tools: z.array(text),
    off_servers: z.array(text),
  })
  .openapi("Controls");
export type ControlsView = View<typeof controlState>;

const changes = { method: "post", needs: "controls:write", answer: controlState } as const;
const switches = {
  ...changes,
  needs: "tools:switch",
  body: z.strictObject({ enabled: z.boolean(), reason: reason.optional() }),
} as const;

export const controls = {
  show: route({
    method: "get",
    path: "/v1/controls",
    needs: "controls:read",
    summary: "The switches as they are.",
    answer: controlState,
  }),
  history: route({
    method: "get",
    path: "/v1/controls/history",
    needs: "controls:read",
    summary: "Every change of a switch, new to old: by whom and why. Of the installation's own tenant alone.",
    answer: z.object({ changes: z.array(change) }),
  }),
  pause: route({
    ...changes,
    path: "/v1/controls/pause",
    summary: "Refuse every call from now on.",
    body: reasonFields,
  }),
  resume: route({
    ...changes,
    path: "/v1/controls/resume",
    summary: "Let calls pass again.",
    body: reasonFields,
  }),
  autonomy: route({
    ...changes,
    path: "/v1/controls/autonomy",
    summary: "What agents may do unasked, A0 to A4.",
    body: z.strictObject({ level: autonomy, reason: reason.optional() }),
  }),
  tool: route({
    ...switches,
    path: "/v1/controls/tools/{name}",
    summary: "Switch one tool on or off.",
  }),
  server: route({
    ...switches,
    path: "/v1/controls/servers/{name}",
    summary: "Switch one upstream server with all its tools on or off.",
  }),
};

const wholeName = new RegExp(`^${namePattern}$`);

/** `postern secrets` changes a sealed file, not the store. The change is recorded here, by name. */
export const secrets = {
  changed: route({
    method: "post",
    path: "/v1/secrets/changes",
    needs: "controls:write",
    summary: "Record that a secret was set or removed, and mask what was set. Its value is never sent.",
    // A refusal does not repeat the names: a caller may have put the value there.
    body: z
      .strictObject({ connector: text.max(128), key: text.max(128), act: z.enum(["set", "removed"]) })
      .refine(({ connector, key }) => wholeName.test(`${connector}/${key}`), "`connector` and `key` name no secret"),
    answer: z.object({ recorded: z.boolean() }),
  }),
};
