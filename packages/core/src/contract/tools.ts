import { z } from "zod";
import {
  component,
  digest,
  each,
  effects,
  flag,
  json,
  jsonObject,
  name,
  oneAction,
  optional,
  reason,
  reasonFields,
  risk,
  riskSource,
  runId,
  search,
  text,
  texts,
  time,
  when,
  whole,
} from "./fields.ts";
import { route, type View } from "./route.ts";

const hint = flag.optional();

export const tool = z
  .object({
    ...oneAction,
    title: text.optional(),
    description: text,
    server: text.optional(),
    kind: z.enum(["local", "hosted", "provider_defined"]),
    tool_type: z.enum(["FUNCTION", "SKILL", "MCP", "A2A", "KNOWLEDGE", "CONNECTOR", "PIPELINE"]),
    input_schema: jsonObject,
    output_schema: jsonObject.optional(),
    annotations: z
      .object({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint, openWorldHint: hint })
      .describe("As MCP names them."),
    icons: z.array(jsonObject).optional().describe("As MCP has them."),
    meta: jsonObject.optional().meta({ description: "MCP's `_meta`." }),
    ui: z
      .object({ resource_uri: text, csp: jsonObject.optional(), permissions: texts, prefers_border: flag })
      .optional()
      .describe("The page that MCP clients show for it."),
    provider_specs: jsonObject
      .optional()
      .meta({ description: "What each provider is sent for a hosted or provider-defined tool, verbatim." }),
    call_types: texts.optional().describe("The types under which its provider's calls arrive."),
    risk,
    risk_source: riskSource,
    guess: z
      .object({ risk, effects, open_world: flag, why: texts })
      .optional()
      .describe("What was guessed, if the risk is not stated."),
    effects,
    open_world: flag,
    scopes: texts,
    permissions: texts,
    ...each(flag, "idempotent", "require_idempotency_key", "previews", "reconciles", "suspends", "detached"),
    concurrency_safe: flag.describe("It may run beside other calls of the same turn."),
    ...optional({ timeout_ms: z.number(), approval_ttl_ms: z.number() }),
    definition: text,
    unavailable: text.optional().describe("Why it cannot be called now."),
    blocked: z
      .enum(["changed", "new", "waiting"])
      .optional()
      .describe("Until an operator has approved its definition."),
    health: z
      .object({
        status: z.enum(["healthy", "degraded", "unavailable"]),
        consecutive_errors: whole,
        ...optional({ last_success_at: when, last_error: text, rate_limit_resets_at: when }),
      })
      .optional(),
  })
  .meta({ id: "Tool", description: "One action of a tool." });
export type ToolView = View<typeof tool>;

const definition = component("Definition", {
  definition: text.describe("SHA-256 over what the server says of the tool."),
  body: jsonObject,
  at: when,
  by: text.optional().describe("Who approved it. Without it, it was trusted when first seen, or is not approved."),
  via: text.optional().describe("The credential it was approved with."),
});
export type DefinitionView = View<typeof definition>;

const difference = z.object({ field: text, ...optional({ path: text, before: json, after: json }), rows: texts });
export type DifferenceView = View<typeof difference>;

export const toolChanges = component("ToolChanges", {
  tool: text,
  server: text,
  state: z.enum(["pinned", "changed", "new"]),
  ...optional({ pinned: definition, offered: definition }),
  differences: z.array(difference),
  warnings: z
    .array(z.object({ field: text, path: text.optional(), at: whole, what: text, text }))
    .optional()
    .describe("Texts of the newest definition that hide something or give orders to a model."),
});
export type ToolChangesView = View<typeof toolChanges>;

const durations = optional({ p50_ms: z.number(), p95_ms: z.number() });
const callStatistics = {
  ...each(whole, "calls", "errors", "unknown", "refused"),
  asked: whole.describe("Calls for which a person was asked."),
  ...durations,
  ...optional({ last_call_at: when, last_error_at: when, last_error_code: text }),
};
const decisionStatistics = {
  ...each(whole, "approved", "denied", "skipped"),
  ...durations,
};
const actionStatistics = z.object({ ...oneAction, ...callStatistics });
export type ActionStatisticsView = View<typeof actionStatistics>;

const periodCounts = z.object({
  at: when,
  ...each(whole, "ok", "failed", "refused", "unknown", "previewed", "asked"),
});

const statistics = component("Statistics", {
  from: when,
  to: when,
  tools: z.array(actionStatistics),
  agents: z.array(z.object({ agent: text, ...callStatistics })),
  decisions: z
    .object({ ...decisionStatistics, ...each(whole, "expired", "withdrawn") })
    .describe("`p50_ms` and `p95_ms`: from the request to the decision of a person."),
  deciders: z.array(z.object({ decider: text, ...decisionStatistics })),
  periods: z.array(periodCounts).describe("Hours or days (UTC) with calls, oldest first."),
  minutes: z.array(periodCounts).describe("Of the hour before `to`, of all tools and agents; kept for two hours."),
});
export type StatisticsView = View<typeof statistics>;

export const tools = {
  list: route("get", "/v1/tools", "tools:read", {
    summary: "Every action this token may be shown, with its risk, schema and health.",
    query: search({ run_id: runId }),
    answer: z.object({ tools: z.array(tool) }),
  }),
  show: route("get", "/v1/tools/{name}", "tools:read", {
    summary: "One tool: each of its actions.",
    answer: z.object({ tool: text, actions: z.array(tool) }),
  }),
  changes: route("get", "/v1/tools/{name}/changes", "tools:approve", {
    summary: "What a server's tool is defined as, what is trusted, and how the two differ.",
    answer: toolChanges,
  }),
  approve: route("post", "/v1/tools/{name}/approve", "tools:approve", {
    summary: "Trust the definition that was looked at; the tool can be called again.",
    body: z.strictObject({
      definition: digest.describe(
        "`offered.definition` of the changes: what was looked at, and nothing that came after.",
      ),
      reason: reason.optional(),
    }),
    answer: toolChanges,
  }),
  statistics: route("get", "/v1/statistics", "controls:read", {
    summary:
      "Calls and decisions of your tenant by tool, agent, decider and hour or day, over restarts and all gateways of a store. Without a range: the last 24 hours.",
    query: search({
      from: time.describe("The hour that it is in is counted whole."),
      to: time,
      every: z.enum(["hour", "day"]).describe("Without it: `hour` for a week and less."),
      tool: name.describe("Only of this tool."),
      agent: name.describe("Only of this agent."),
    }),
    answer: statistics,
  }),
};

const refused = z.array(z.object({ tool: text, why: text }));
const serverStatus = z.enum(["connected", "connecting", "disconnected", "idle"]);
export const serverHealth = component("ServerHealth", {
  name: text,
  status: serverStatus.describe("`idle`: it starts with the next call."),
  refused,
  problem: text.optional().describe("Why it is not connected, with its last words."),
  on_demand: z.literal(true).optional().describe("It is started when a call needs it."),
  sign_in_needed: z.literal(true).optional().describe("It is connected when a person has signed in there."),
  restarts: whole.describe("How often it was connected again after it was lost, since Postern started."),
  changes: z
    .array(z.object({ at: when, status: serverStatus, problem: text.optional() }))
    .describe("The last 20 changes of its connection, old to new, since Postern started."),
});
export type ServerHealth = View<typeof serverHealth>;
const healthAnswer = component("Health", {
  status: z.enum(["ok", "broken"]),
  problem: text.optional(),
  tools: whole,
  rejected: refused.describe("Tools of folders that cannot be offered, and why."),
  servers: z.array(serverHealth),
});
export type HealthView = View<typeof healthAnswer>;

export const health = {
  show: route("get", "/v1/health", "tools:read", {
    summary: "What works and what does not, in detail.",
    answer: healthAnswer,
  }),
};

export const servers = {
  reconnect: route("post", "/v1/servers/{name}/reconnect", "tools:switch", {
    summary:
      "Close the connection to an upstream server and connect at once; a program is started again. Of the gateway that is asked. 409 while calls of it run, 502 if it is not connected then.",
    body: reasonFields,
    answer: serverHealth,
  }),
};

export const artifacts = {
  read: route("get", "/v1/artifacts/{digest}", "artifacts:read", {
    summary:
      "An artifact's bytes, for whom it was released to. An operator names the `agent` (and `user`) it belongs to.",
    query: search({ agent: name, user: name }),
    answer: "application/octet-stream",
  }),
  keep: route("post", "/v1/artifacts", "artifacts:write", {
    summary:
      "Keeps a result that is too large for a message. Only for the worker of a running call, with the order's token.",
    rawBody: true,
    answer: z.object({ digest: text }),
  }),
};
