import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { digest, text, when, whole } from "./answer-fields.ts";
import { checkedAnswer, risk } from "./answer-schemas.ts";

/** Good answers of the routes that screens are made of, as the OpenAPI document shows them. */

const timelineApproval = z.object({
  approval_id: text,
  status: text,
  asked_at: when,
  expires_at: when,
  decided_at: when.optional(),
  decided_as: text.optional(),
  decided_by: text.optional(),
});

const timelineCall = z.object({
  call_id: text,
  key: text.optional(),
  state: text,
  tool: text,
  action: text,
  agent: text.optional(),
  user: text.optional(),
  parent_id: text.optional(),
  line: whole.optional(),
  risk_level: risk.optional(),
  idempotent: z.boolean().optional(),
  retryable: z.boolean().optional(),
  code: text.optional(),
  message: text.optional(),
  arrived_at: when,
  started_at: when.optional(),
  ended_at: when.optional(),
  approval: timelineApproval.optional(),
  artifacts: z.array(z.object({ digest, media_type: text.optional(), name: text.optional() })),
});

export const timelineAnswer: ZodType = z
  .object({
    run_id: text,
    calls: z.array(timelineCall),
    scripts: z
      .array(timelineCall)
      .optional()
      .openapi({ description: "Scripts that made calls of this page and stand on another one." }),
    next_before: text.optional(),
  })
  .openapi("Timeline");

export const latestAnswer: ZodType = z
  .object({
    events: z.array(z.record(text, z.unknown())),
    next_before: whole.optional(),
    size: whole,
    checked: checkedAnswer.optional(),
  })
  .openapi("LatestEvents");

export const proofAnswer: ZodType = z
  .object({
    seq: whole,
    body: text,
    leaf: digest,
    path: z.array(digest),
    size: whole,
    root: digest,
    checkpoint: text,
    public_key: text,
  })
  .openapi("EventProof");

export const policyDocumentAnswer: ZodType = z
  .object({
    name: text,
    text,
    line: z.number().int().openapi({ description: "Of the file, where the text begins." }),
    digest,
    editable: z.boolean(),
    why_not: text.optional(),
  })
  .openapi("PolicyDocument");

export const policySavedAnswer: ZodType = z.object({ name: text, digest, kept: text }).openapi("PolicySaved");
