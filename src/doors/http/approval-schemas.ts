import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { preview, principal, reason, risk } from "./answer-schemas.ts";

/** Good answers about approvals, grants and delegations, as the OpenAPI document shows them. */

const text = z.string();
const when = z.string().openapi({ format: "date-time" });
const object = z.record(z.string(), z.unknown());

export const grantAnswer: ZodType = z
  .object({
    grant_id: text,
    status: z.enum(["live", "over", "revoked", "void"]),
    silent: text.optional().openapi({ description: "Why a live one answers nothing at present." }),
    scope: z.object({ tool: text, action: text, arguments: object.optional() }),
    granted_to: principal,
    for: z.enum(["run", "session", "time"]),
    run_id: text.optional(),
    until: when,
    reason: text,
    by: text,
    via: text,
    on_behalf_of: text.optional(),
    at: when,
    approval_id: text,
    risk_level: risk,
    definition: text,
    answers: z.array(text),
    uses: z.number().int(),
    last_used_at: when.optional(),
    revoked: z.object({ by: text, via: text, at: when, reason: text.optional() }).optional(),
  })
  .openapi("Grant");
export const grantsAnswer: ZodType = z.object({ grants: z.array(grantAnswer) });

export const delegationAnswer: ZodType = z
  .object({
    delegation_id: text,
    status: z.enum(["live", "over", "revoked"]),
    from: text,
    via: text,
    to: text,
    until: when,
    reason: text.optional(),
    at: when,
    revoked: z.object({ by: text, via: text.optional(), at: when }).optional(),
    ends: z.literal(true).optional().openapi({ description: "You may end it." }),
  })
  .openapi("Delegation");
export const delegationsAnswer: ZodType = z.object({ delegations: z.array(delegationAnswer) });

const addressees = z
  .object({ roles: z.array(text).optional(), groups: z.array(text).optional(), users: z.array(text).optional() })
  .openapi("Addressees");
const vote = { as: text, by: text, via: text, at: when, on_behalf_of: text.optional(), reason: text.optional() };
const viewer = z
  .object({
    may: z.array(z.enum(["approve", "deny", "skip", "modify"])),
    why_not: z
      .enum(["over", "requester", "credential", "not_asked", "sign_in", "voted", "role"])
      .optional()
      .openapi({ description: "Why you may not approve it; `message` says it in a sentence." }),
    message: text.optional(),
    on_behalf_of: text.optional(),
    withdraws: z
      .literal(true)
      .optional()
      .openapi({ description: "You or an agent of yours asked for it, and you may take it back." }),
  })
  .openapi("ApprovalViewer");

export const approvalAnswer: ZodType = z
  .object({
    approval_id: text,
    status: z.enum(["pending", "approved", "denied", "skipped", "expired", "withdrawn", "used"]),
    created_at: when,
    expires_at: when,
    trace_id: text,
    refs: z.object({ run: text, key: text }),
    requested_by: principal,
    risk_level: risk,
    autonomy_level: text.optional(),
    what: z.object({
      tool: text,
      action: text,
      arguments: object,
      artifacts: z
        .array(
          z.object({
            path: text,
            digest: text,
            media_type: text,
            bytes: z.number().int(),
            text: text.optional().openapi({ description: "Without it, the artifact is too large to look at." }),
          }),
        )
        .optional()
        .openapi({ description: "What the artifacts hold that the arguments name." }),
    }),
    asked: object.optional(),
    asked_preview: preview.optional(),
    why: z.array(reason),
    summary: text.optional(),
    preview: preview.optional(),
    preview_digest: text.optional(),
    preview_binds: z.boolean().optional().openapi({
      description: "Whether the preview must be the same when the call runs; `false`: it may differ then.",
    }),
    policy_version: text,
    definition: text,
    binding: text,
    digest: text,
    shown_digest: text.openapi({
      description: "Of all that is shown of what would run; a decision carries it as `expected_digest`.",
    }),
    input_schema: object.optional(),
    routed: z.object({
      rule: text,
      to: addressees,
      quorum: z.number().int(),
      typed_confirmation: z.boolean(),
      separate_user: z.boolean(),
      signed_in: z.boolean(),
      remind_at: when.optional(),
      escalate_at: when.optional(),
      escalate_to: addressees.optional(),
    }),
    votes: z.array(z.object(vote)),
    quorum_left: z.number().int(),
    remembers_allowed: z.boolean(),
    run_calls: z.number().int().optional(),
    reason: text.optional(),
    edited: z.object({ by: text, via: text, at: when }).optional(),
    reminded_at: when.optional(),
    escalated_at: when.optional(),
    on_expiry: z.literal("denied"),
    how_to_approve: text,
    decision: z.object(vote).optional(),
    viewer: viewer.optional().openapi({ description: "What you may say to it." }),
    grant: grantAnswer.optional(),
  })
  .openapi("Approval");
const count = z.number().int();
export const approvalsAnswer: ZodType = z.object({
  approvals: z.array(approvalAnswer),
  next_after: text.optional(),
  waiting: z
    .object({ safe: count, medium: count, high: count, critical: count })
    .optional()
    .openapi({ description: "On the first page of what is pending: how many there are, of whichever risk." }),
});

export const batchAnswer: ZodType = z.object({
  answers: z.array(
    z.object({
      approval_id: text,
      decided: z.boolean(),
      approval: approvalAnswer.optional(),
      error: z.object({ code: text, message: text }).optional(),
    }),
  ),
});
