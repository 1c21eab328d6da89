import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { text, when } from "./answer-fields.ts";

/** Good answers as the OpenAPI document shows them. They describe and check nothing: wire.ts is what makes the answers. */

const free = z.unknown().openapi({ description: "Any JSON." });
const object = z.record(z.string(), z.unknown());
export const risk: ZodType = z.enum(["safe", "medium", "high", "critical"]).openapi("Risk");
export const verdict: ZodType = z.enum(["ALLOW", "CONFIRM", "PREVIEW", "BLOCK", "DENY"]).openapi("Verdict");
export const principal: ZodType = z
  .object({ tenant: text, agent: text, user: text.optional(), via: text.optional() })
  .openapi("Principal");
export const reason: ZodType = z.object({ rule: text, says: text, where: text.optional() }).openapi("Reason");

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

export const checkpointAnswer: ZodType = z.object({ note: text });
const verification = z.object({
  intact: z.boolean(),
  events: z.number().int(),
  head: text.optional(),
  checkpoints: z.number().int().optional(),
  unsigned: z.number().int().optional(),
  first_broken: z.number().int().optional(),
  why: text.optional(),
  unreadable: z.enum(["damaged", "failing"]).optional(),
  integrity: z.enum(["intact", "broken", "unreadable"]).optional(),
  signer: z.enum(["own", "trusted", "unproven", "foreign"]).optional(),
  outcome: z.enum(["ok", "failed"]).optional(),
  problems: z.array(text).optional(),
});
export const verificationAnswer: ZodType = verification.openapi("Verification");
/** What the log was last found to be, by whoever asked or in the background. */
export const checkedAnswer: ZodType = verification.extend({ at: when }).openapi("Checked");
export const auditAnswer: ZodType = z.object({
  events: z.array(object),
  next_after: z.number().int().optional(),
  checked: checkedAnswer.optional(),
});

export const candidateAnswer: ZodType = z
  .object({
    candidate_id: text,
    state: z.enum(["open", "accepted", "rejected", "waiting", "unknown"]),
    run_id: text,
    call_id: text,
    proposed_at: when,
    agent: text,
    user: text.optional(),
    scope: text,
    content: text,
    tags: z.array(text),
    decided_at: when.optional(),
    decided_by: text.optional(),
    reason: text.optional(),
    memory_id: text.optional(),
    approval_id: text.optional(),
    error: text.optional(),
  })
  .openapi("MemoryCandidate");
export const candidatesAnswer: ZodType = z.object({ candidates: z.array(candidateAnswer) });
