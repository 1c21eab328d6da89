import { z } from "@hono/zod-openapi";
import { digest, json, jsonObject, name, reason, risk, runId, text, when, whole } from "./fields.ts";
import { route, type View } from "./route.ts";

const hint = z.boolean().optional();
const effects = z.enum(["read", "write", "destructive"]);

export const tool = z
  .object({
    tool: text,
    action: text,
    title: text.optional(),
    description: text,
    server: text.optional(),
    kind: z.enum(["local", "hosted", "provider_defined"]),
    tool_type: z.enum(["FUNCTION", "SKILL", "MCP", "A2A", "KNOWLEDGE", "CONNECTOR", "PIPELINE"]),
    input_schema: jsonObject,
    output_schema: jsonObject.optional(),
    annotations: z
      .object({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint, openWorldHint: hint })
      .openapi({ description: "As MCP names them." }),
    icons: z.array(jsonObject).optional().openapi({ description: "As MCP has them." }),
    meta: jsonObject.optional().openapi({ description: "MCP's `_meta`." }),
    ui: z
      .object({
        resource_uri: text,
        csp: jsonObject.optional(),
        permissions: z.array(text),
        prefers_border: z.boolean(),
      })
      .optional()
      .openapi({ description: "The page that MCP clients show for it." }),
    provider_specs: jsonObject
      .optional()
      .openapi({ description: "What each provider is sent for a hosted or provider-defined tool, verbatim." }),
    call_types: z.array(text).optional().openapi({ description: "The types under which its provider's calls arrive." }),
    risk,
    risk_source: z.enum(["declared", "operator", "default", "guess"]),
    guess: z
      .object({ risk, effects, open_world: z.boolean(), why: z.array(text) })
      .optional()
      .openapi({ description: "What was guessed, if the risk is not stated." }),
    effects,
    open_world: z.boolean(),
    scopes: z.array(text),
    permissions: z.array(text),
    idempotent: z.boolean(),
    require_idempotency_key: z.boolean(),
    previews: z.boolean(),
    suspends: z.boolean(),
    detached: z.boolean(),
    concurrency_safe: z.boolean().openapi({ description: "It may run beside other calls of the same turn." }),
    timeout_ms: z.number().optional(),
    approval_ttl_ms: z.number().optional(),
    definition: text,
    unavailable: text.optional().openapi({ description: "Why it cannot be called now." }),
    blocked: z
      .enum(["changed", "new", "waiting"])
      .optional()
      .openapi({ description: "Until an operator has approved its definition." }),
    health: z
      .object({
        status: z.enum(["healthy", "degraded", "unavailable"]),
        consecutive_errors: whole,
        last_success_at: when.optional(),
        last_error: text.optional(),
        rate_limit_resets_at: when.optional(),
      })
      .optional(),
  })
  .openapi("Tool", { description: "One action of a tool." });
export type ToolView = View<typeof tool>;

const definition = z
  .object({
    definition: text.openapi({ description: "SHA-256 over what the server says of the tool." }),
    body: jsonObject,
    at: when,
    by: text
      .optional()
      .openapi({ description: "Who approved it. Without it, it was trusted when first seen, or is not approved." }),
    via: text.optional().openapi({ description: "The credential it was approved with." }),
  })
  .openapi("Definition");
export type DefinitionView = View<typeof definition>;

const difference = z.object({
  field: text,
  path: text.optional(),
  before: json.optional(),
  after: json.optional(),
  rows: z.array(text),
});
export type DifferenceView = View<typeof difference>;

export const toolChanges = z
  .object({
    tool: text,
    server: text,
    state: z.enum(["pinned", "changed", "new"]),
    pinned: definition.optional(),
    offered: definition.optional(),
    differences: z.array(difference),
  })
  .openapi("ToolChanges");
export type ToolChangesView = View<typeof toolChanges>;

const actionStatistics = z.object({
  tool: text,
  action: text,
  calls: whole,
  errors: whole,
  unknown: whole,
  refused: whole,
  p50_ms: z.number().optional(),
  p95_ms: z.number().optional(),
  last_call_at: when.optional(),
  last_error_at: when.optional(),
  last_error_code: text.optional(),
});
export type ActionStatisticsView = View<typeof actionStatistics>;

const statistics = z
  .object({
    since: when.optional(),
    tools: z.array(actionStatistics),
    minutes: z.array(
      z.object({
        at: when,
        ok: whole,
        failed: whole,
        refused: whole,
        unknown: whole,
        previewed: whole,
        asked: whole,
      }),
    ),
  })
  .openapi("Statistics");
export type Statistics = View<typeof statistics>;

export const tools = {
  list: route("get", "/v1/tools", "tools:read", {
    summary: "Every action this token may be shown, with its risk, schema and health.",
    query: z.strictObject({ run_id: runId.optional() }),
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
      definition: digest.openapi({
        description: "`offered.definition` of the changes: what was looked at, and nothing that came after.",
      }),
      reason: reason.optional(),
    }),
    answer: toolChanges,
  }),
  statistics: route("get", "/v1/statistics", "controls:read", {
    summary: "Calls, errors and times of each tool of your tenant since the start, and every minute of the last hour.",
    answer: statistics,
  }),
};

const refused = z.array(z.object({ tool: text, why: text }));
const serverHealth = z.object({
  name: text,
  status: z.enum(["connected", "connecting", "disconnected"]),
  refused,
  problem: text.optional(),
});
export type ServerHealth = View<typeof serverHealth>;
const healthAnswer = z
  .object({
    status: z.enum(["ok", "broken"]),
    problem: text.optional(),
    tools: whole,
    rejected: refused.openapi({ description: "Tools of folders that cannot be offered, and why." }),
    servers: z.array(serverHealth),
  })
  .openapi("Health");
export type HealthView = View<typeof healthAnswer>;

export const health = {
  show: route("get", "/v1/health", "tools:read", {
    summary: "What works and what does not, in detail.",
    answer: healthAnswer,
  }),
};

export const artifacts = {
  read: route("get", "/v1/artifacts/{digest}", "artifacts:read", {
    summary:
      "An artifact's bytes, for whom it was released to. An operator names the `agent` (and `user`) it belongs to.",
    query: z.strictObject({ agent: name.optional(), user: name.optional() }),
    answer: "application/octet-stream",
  }),
};
