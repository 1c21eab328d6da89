import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { text, when } from "./answer-fields.ts";

/** Good answers as the OpenAPI document shows them. They describe and check nothing: wire.ts is what makes the answers. */

const free = z.unknown().openapi({ description: "Any JSON." });
const object = z.record(z.string(), z.unknown());
export const risk: ZodType = z.enum(["safe", "medium", "high", "critical"]).openapi("Risk");
const autonomy = z.enum(["A0", "A1", "A2", "A3", "A4"]).openapi("Autonomy");
export const verdict: ZodType = z.enum(["ALLOW", "CONFIRM", "PREVIEW", "BLOCK", "DENY"]).openapi("Verdict");
export const principal: ZodType = z
  .object({ tenant: text, agent: text, user: text.optional(), via: text.optional() })
  .openapi("Principal");
export const reason: ZodType = z.object({ rule: text, says: text, where: text.optional() }).openapi("Reason");

export const preview: ZodType = z
  .object({
    kind: z.enum(["text", "diff", "table", "message"]),
    summary: text,
    diff: text.optional(),
    table: z.object({ columns: z.array(text), rows: z.array(z.array(text)) }).optional(),
    message: z.object({ to: z.array(text).optional(), subject: text.optional(), body: text }).optional(),
    details: free.optional(),
    supported: z.boolean(),
    problem: text.optional(),
  })
  .openapi("Preview");

const refusal = z
  .object({
    code: text,
    message: text,
    retry: z.enum(["never", "later", "changed", "same-key", "ask-again"]),
    details: free.optional(),
  })
  .openapi("Refusal");

export const problemAnswer: ZodType = z
  .object({
    error: z.object({
      code: text,
      message: text,
      details: free.optional(),
      trace_id: text.optional(),
    }),
  })
  .openapi("Problem");

export const outcomeAnswer: ZodType = z
  .object({
    status: z.enum(["ok", "error", "denied", "pending", "preview"]),
    call_id: text,
    content: z.array(object),
    text,
    structured: free.optional(),
    artifact: text.optional(),
    files: z.array(z.object({ path: text, media_type: text, artifact: text })).optional(),
    summary: text.optional(),
    preview: preview.optional(),
    marks: z.array(z.object({ guardrail: text, why: text })).optional(),
    refusal: refusal.optional(),
    approval_id: text.optional(),
    expires_at: when.optional(),
    how_to_approve: text.optional(),
    replayed: z.boolean().optional(),
    timed_out: z.boolean().optional(),
  })
  .openapi("Outcome");

export const callAnswer: ZodType = z
  .object({
    call_id: text,
    key: text,
    state: z.enum(["held", "queued", "attempted", "suspended", "ok", "failed", "denied", "unknown"]),
    tool: text,
    action: text,
    arguments: object,
    arguments_digest: text,
    requested_by: principal,
    run_id: text,
    trace_id: text,
    task_id: text.optional(),
    step_id: text.optional(),
    parent_id: text.optional(),
    autonomy_level: autonomy.optional(),
    risk_level: risk,
    idempotency_key: text.optional(),
    idempotent: z.boolean(),
    retryable: z.boolean(),
    approval_id: text.optional(),
    arrived_at: when,
    started_at: when.optional(),
    ended_at: when.optional(),
    outcome: outcomeAnswer.optional(),
  })
  .openapi("Call");
export const callsAnswer: ZodType = z.object({
  calls: z.array(callAnswer),
  next_before: text.optional(),
});

const tool = z
  .object({
    tool: text,
    action: text,
    title: text.optional(),
    description: text,
    server: text.optional(),
    kind: text,
    tool_type: text,
    input_schema: object,
    output_schema: object.optional(),
    annotations: object,
    icons: z.array(object).optional(),
    meta: object.optional(),
    ui: z
      .object({
        resource_uri: text,
        csp: object.optional(),
        permissions: z.array(text),
        prefers_border: z.boolean(),
      })
      .optional(),
    provider_specs: object.optional(),
    call_types: z.array(text).optional(),
    risk,
    risk_source: z.enum(["declared", "operator", "default", "guess"]),
    guess: z.object({ risk, effects: text, open_world: z.boolean(), why: z.array(text) }).optional(),
    effects: z.enum(["read", "write", "destructive"]),
    open_world: z.boolean(),
    scopes: z.array(text),
    permissions: z.array(text),
    idempotent: z.boolean(),
    require_idempotency_key: z.boolean(),
    previews: z.boolean(),
    suspends: z.boolean(),
    detached: z.boolean(),
    concurrency_safe: z.boolean(),
    timeout_ms: z.number().optional(),
    approval_ttl_ms: z.number().optional(),
    definition: text,
    unavailable: text.optional(),
    blocked: z.enum(["changed", "new", "waiting"]).optional(),
    health: object.optional(),
  })
  .openapi("Tool");
export const toolsAnswer: ZodType = z.object({ tools: z.array(tool) });
export const toolAnswer: ZodType = z.object({ tool: text, actions: z.array(tool) });

const definition = z
  .object({ definition: text, body: object, at: when, by: text.optional(), via: text.optional() })
  .openapi("Definition");
export const toolChangesAnswer: ZodType = z
  .object({
    tool: text,
    server: text,
    state: z.enum(["pinned", "changed", "new"]),
    pinned: definition.optional(),
    offered: definition.optional(),
    differences: z.array(
      z.object({
        field: text,
        path: text.optional(),
        before: free.optional(),
        after: free.optional(),
        rows: z.array(text),
      }),
    ),
  })
  .openapi("ToolChanges");

export const decided: ZodType = z
  .object({
    verdict,
    risk,
    reasons: z.array(reason),
    policy_version: text,
    missing_scope: text.optional(),
    observed: verdict.optional(),
    grant_id: text.optional(),
  })
  .openapi("Decision");
const recorded = z.object({
  edited: z.object({ asked_digest: text, digest: text }).optional(),
  weighed: z
    .object({
      at: when,
      verdict: text,
      risk: text,
      reasons: z.array(reason),
      policy_version: text,
      grant_id: text.optional(),
    })
    .optional(),
});
export const explanationAnswer: ZodType = z
  .object({
    reached: z.enum(["verdict", "refused"]),
    decision: decided.optional(),
    facts: object.optional(),
    summary: text.optional(),
    refusal: refusal.optional(),
    recorded: recorded.optional(),
  })
  .openapi("Explanation");

export const controlsAnswer: ZodType = z
  .object({
    paused: z.boolean(),
    paused_by: z.object({ at: when, by: text, via: text.optional(), reason: text.optional() }).optional(),
    autonomy: autonomy.nullable(),
    off_tools: z.array(text),
    off_servers: z.array(text),
  })
  .openapi("Controls");
export const controlHistoryAnswer: ZodType = z.object({
  changes: z.array(
    z.object({
      at: when,
      by: text,
      via: text.optional(),
      change: text,
      value: text.optional(),
      reason: text.optional(),
    }),
  ),
});

export const healthAnswer: ZodType = z
  .object({
    status: z.enum(["ok", "broken"]),
    problem: text.optional(),
    tools: z.number().int(),
    rejected: z.array(z.object({ tool: text, why: text })),
    servers: z.array(
      z.object({
        name: text,
        status: z.enum(["connected", "connecting", "disconnected"]),
        refused: z.array(z.object({ tool: text, why: text })),
        problem: text.optional(),
      }),
    ),
  })
  .openapi("Health");
