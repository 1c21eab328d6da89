import { z } from "zod";
import { secretPathPattern } from "../names.ts";
import { autonomy, component, flag, name, optional, reason, reasonFields, runId, text, texts, when } from "./fields.ts";
import { route, type View } from "./route.ts";

const change = z.object({
  at: when,
  by: text,
  via: text.optional().describe("The credential. Old changes were kept without it."),
  change: text,
  ...optional({ value: text, reason: text }),
});
export type ControlChangeView = View<typeof change>;

const pause = component("Pause", {
  kind: z.enum(["agent", "run", "tool", "server"]),
  name: text.describe("Of a run its id."),
  at: when,
  by: text,
  via: text.describe("The credential."),
  reason: text.optional(),
});
export type PauseView = View<typeof pause>;

export const controlState = component("Controls", {
  paused: flag,
  paused_by: change.omit({ change: true, value: true }).optional(),
  autonomy: autonomy.nullable().describe("Null: thresholds decide."),
  off_tools: texts,
  off_servers: texts,
  pauses: z.array(pause).describe("What of your tenant is stopped singly: by whom and why."),
});
export type ControlsView = View<typeof controlState>;

/** Everything a pause of one agent or run says. */
const single = z
  .strictObject({
    ...optional({
      agent: name.describe("The agent's name, as it calls."),
      run_id: runId.describe("The id of the run."),
      reason: reason.describe("Recorded with it, and shown to the agent."),
    }),
    paused: flag,
  })
  .refine(({ agent, run_id }) => (agent === undefined) !== (run_id === undefined), "Name either `agent` or `run_id`");

const switched = z.strictObject({ enabled: flag, reason: reason.optional() });

export const controls = {
  show: route("get", "/v1/controls", "controls:read", {
    summary: "The switches as they are.",
    answer: controlState,
  }),
  history: route("get", "/v1/controls/history", "controls:read", {
    summary: "Every change of a switch, new to old: by whom and why. Other tenants see those of their agents and runs.",
    answer: z.object({ changes: z.array(change) }),
  }),
  pause: route("post", "/v1/controls/pause", "controls:write", {
    summary: "Refuse every call from now on.",
    body: reasonFields,
    answer: controlState,
  }),
  resume: route("post", "/v1/controls/resume", "controls:write", {
    summary: "Let calls pass again.",
    body: reasonFields,
    answer: controlState,
  }),
  pauseOne: route("post", "/v1/controls/pauses", "agents:pause", {
    summary:
      "Refuse the calls of one agent or one run of your tenant from now on, approved ones too, or let them pass again. Requests stay and can be decided.",
    body: single,
    answer: controlState,
  }),
  autonomy: route("post", "/v1/controls/autonomy", "controls:write", {
    summary: "What agents may do unasked, A0 to A4.",
    body: z.strictObject({ level: autonomy, reason: reason.optional() }),
    answer: controlState,
  }),
  tool: route("post", "/v1/controls/tools/{name}", "tools:switch", {
    summary: "Switch one tool on or off.",
    body: switched,
    answer: controlState,
  }),
  server: route("post", "/v1/controls/servers/{name}", "tools:switch", {
    summary: "Switch one upstream server with all its tools on or off.",
    body: switched,
    answer: controlState,
  }),
};

const wholeName = new RegExp(`^${secretPathPattern}$`);

/** `postern secrets` changes a sealed file, not the store. The change is recorded here, by name. */
export const secrets = {
  changed: route("post", "/v1/secrets/changes", "controls:write", {
    summary: "Record that a secret was set or removed, and mask what was set. Its value is never sent.",
    // A refusal does not repeat the names: a caller may have put the value there.
    body: z
      .strictObject({ connector: text.max(128), key: text.max(128), act: z.enum(["set", "removed"]) })
      .refine(({ connector, key }) => wholeName.test(`${connector}/${key}`), "`connector` and `key` name no secret"),
    answer: z.object({ recorded: flag }),
  }),
};
