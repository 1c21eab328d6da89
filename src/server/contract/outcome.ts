import { z } from "@hono/zod-openapi";
import { json, jsonObject, text, when } from "./fields.ts";
import type { View } from "./route.ts";

export const preview = z
  .object({
    kind: z.enum(["text", "diff", "table", "message"]).openapi({ description: "What to draw first." }),
    summary: text,
    diff: text.optional(),
    table: z.object({ columns: z.array(text), rows: z.array(z.array(text)) }).optional(),
    message: z.object({ to: z.array(text).optional(), subject: text.optional(), body: text }).optional(),
    details: json.optional(),
    supported: z.boolean(),
    problem: text.optional(),
  })
  .openapi("Preview");
export type PreviewView = View<typeof preview>;

export const refusal = z
  .object({
    code: text,
    message: text,
    retry: z.enum(["never", "later", "changed", "same-key", "ask-again"]),
    details: json.optional(),
  })
  .openapi("Refusal");

export const outcome = z
  .object({
    status: z.enum(["ok", "error", "denied", "pending", "preview"]),
    call_id: text,
    content: z.array(jsonObject),
    text,
    structured: json.optional(),
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
export type OutcomeView = View<typeof outcome>;

/** Every answer that is no success. */
export const problemBody = z
  .object({
    error: z.object({ code: text, message: text, details: json.optional(), trace_id: text.optional() }),
  })
  .openapi("Problem");
