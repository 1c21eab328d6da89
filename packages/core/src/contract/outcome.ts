import { z } from "zod";
import { component, flag, json, jsonObject, optional, text, texts, when } from "./fields.ts";
import type { View } from "./route.ts";

/** Fields of a content block that hold data: their names stay as they are. */
export const blockData = ["annotations", "meta", "resource_meta", "icons"] as const;

export const preview = component("Preview", {
  kind: z.enum(["text", "diff", "table", "message"]).describe("What to draw first."),
  summary: text,
  diff: text.optional(),
  table: z.object({ columns: texts, rows: z.array(texts) }).optional(),
  message: z.object({ to: texts.optional(), subject: text.optional(), body: text }).optional(),
  details: json.optional(),
  supported: flag,
  problem: text.optional(),
});
export type PreviewView = View<typeof preview>;

export const refusal = component("Refusal", {
  code: text,
  message: text,
  retry: z.enum(["never", "later", "changed", "same-key", "ask-again"]),
  details: json.optional(),
});

export const outcome = component("Outcome", {
  status: z.enum(["ok", "error", "denied", "pending", "preview"]),
  call_id: text,
  content: z.array(jsonObject),
  text,
  ...optional({ structured: json, artifact: text }),
  files: z.array(z.object({ path: text, media_type: text, artifact: text })).optional(),
  ...optional({ summary: text, preview }),
  notes: texts.optional(),
  marks: z.array(z.object({ guardrail: text, why: text })).optional(),
  ...optional({ refusal, approval_id: text, expires_at: when, how_to_approve: text, replayed: flag }),
  timed_out: flag.optional(),
});
export type OutcomeView = View<typeof outcome>;

/** Every answer that is no success. */
export const problemBody = component("Problem", {
  error: z.object({ code: text, message: text, details: json.optional(), trace_id: text.optional() }),
});
