import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { text, when, whole } from "./answer-fields.ts";

/** Good answers of run-routes.ts, as the OpenAPI document shows them. */

export const runAnswer: ZodType = z
  .object({
    run_id: text,
    tenant: text,
    principal: z.object({ agent: text, user: text.optional() }).optional(),
    state: z.enum(["started", "running", "completed", "failed", "stopped"]),
    task_id: text.optional(),
    reason: text.optional(),
    created_at: when,
    last_event_at: when,
    finished_at: when.optional(),
    counts: z.object({
      events: whole,
      started: whole,
      completed: whole,
      failed: whole,
      blocked: whole,
      previewed: whole,
      replayed: whole,
      waiting: whole,
      errors: whole,
      artifacts: whole,
    }),
    deliverables: z.object({ expected: z.array(text), missing: z.array(text).optional() }),
    governance: z.object({
      result: z.enum(["passed", "failed", "incomplete", "blocked"]),
      reasons: z.array(z.object({ result: text, code: text, message: text })),
    }),
  })
  .openapi("Run");
export const runsAnswer: ZodType = z.object({ runs: z.array(runAnswer), next_after: text.optional() });

export const runEventsAnswer: ZodType = z.object({
  events: z.array(
    z
      .object({
        event_id: text,
        sequence: whole,
        run_id: text,
        session_id: text.nullable(),
        task_id: text.nullable(),
        type: text,
        timestamp: when,
        actor: text,
        severity: z.enum(["debug", "info", "warning", "error"]),
        summary: text,
        data: z.record(text, z.unknown()),
        correlation_id: text.optional(),
        parent_event_id: text.optional(),
      })
      .openapi("RunEvent"),
  ),
  next_after: whole.optional(),
});

export const runVerificationAnswer: ZodType = z
  .object({
    intact: z.boolean(),
    run_id: text,
    events: whole,
    calls: whole,
    sealed: whole,
    problems: z.array(z.object({ file: text, line: whole.optional(), why: text })),
    notes: z.array(text),
  })
  .openapi("RunVerification");
