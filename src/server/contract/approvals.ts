import { z } from "@hono/zod-openapi";
import { largestBatch } from "../../approvals/decision.ts";
import { approvalStates } from "../../core/states.ts";
import {
  decisionReason,
  digest,
  jsonObject,
  limit,
  name,
  principal,
  reason,
  reasonFields,
  risk,
  runId,
  text,
  when,
  whole,
} from "./fields.ts";
import { grant, remember } from "./grants.ts";
import { outcome, preview } from "./outcome.ts";
import { type Input, route, type View } from "./route.ts";

const state = z.enum(approvalStates);
const verb = z.enum(["approve", "deny", "skip", "modify"]);
export type DecisionVerb = View<typeof verb>;

const addressees = z
  .object({ roles: z.array(text).optional(), groups: z.array(text).optional(), users: z.array(text).optional() })
  .openapi("Addressees");

export type AddresseesView = View<typeof addressees>;

const vote = z
  .object({
    as: text,
    by: text,
    via: text.openapi({ description: "The credential that the person used." }),
    at: when,
    on_behalf_of: text.optional(),
    reason: text.optional(),
  })
  .openapi("Vote");

const viewer = z
  .object({
    may: z.array(verb),
    why_not: z
      .enum(["over", "requester", "credential", "not_asked", "sign_in", "voted", "role"])
      .optional()
      .openapi({ description: "Why you may not approve it; `message` says it in a sentence." }),
    message: text.optional(),
    on_behalf_of: text.optional(),
    withdraws: z
      .literal(true)
      .optional()
      .openapi({ description: "You or an agent of yours asked for it, and you may withdraw it." }),
  })
  .openapi("ApprovalViewer");
export type ViewerView = View<typeof viewer>;
export type ViewerInput = Input<typeof viewer>;

const artifact = z.object({
  path: text,
  digest: text,
  media_type: text,
  bytes: whole,
  text: text.optional().openapi({ description: "Without it, the artifact is too large to look at." }),
});

export type ArtifactView = View<typeof artifact>;

const routed = z.object({
  rule: text,
  to: addressees,
  quorum: whole,
  typed_confirmation: z.boolean(),
  separate_user: z.boolean(),
  signed_in: z.boolean(),
  remind_at: when.optional(),
  escalate_at: when.optional(),
  escalate_to: addressees.optional(),
});

export const approval = z
  .object({
    approval_id: text,
    status: state,
    created_at: when,
    expires_at: when,
    trace_id: text,
    refs: z.object({ run: text, key: text }),
    requested_by: principal,
    risk_level: risk,
    autonomy_level: text.optional(),
    what: z
      .object({
        tool: text,
        action: text,
        arguments: jsonObject,
        artifacts: z
          .array(artifact)
          .optional()
          .openapi({ description: "What the artifacts hold that the arguments name." }),
      })
      .openapi({ description: "Exactly what runs if it is approved." }),
    asked: jsonObject.optional().openapi({ description: "The arguments as they were sent, where they were edited." }),
    asked_preview: preview.optional(),
    why: z.array(decisionReason),
    summary: text.optional(),
    preview: preview.optional(),
    preview_digest: text.optional(),
    preview_binds: z.boolean().optional().openapi({
      description: "Whether the preview must be the same when the call runs; `false`: it may differ then.",
    }),
    policy_version: text,
    definition: text,
    binding: text,
    digest: text.openapi({ description: "SHA-256 over the RFC 8785 text of `what.arguments`." }),
    shown_digest: text.openapi({
      description: "Of all that is shown of what would run; a decision carries it as `expected_digest`.",
    }),
    input_schema: jsonObject.optional().openapi({ description: "Of the tool as it is now. Not in lists." }),
    routed: routed.openapi({ description: "What a decision needs." }),
    votes: z.array(vote),
    quorum_left: whole.openapi({ description: "How many different people must still approve." }),
    remembers_allowed: z.boolean(),
    run_calls: whole.optional(),
    reason: text.optional().openapi({ description: "The agent's own reason. It is not checked." }),
    edited: z.object({ by: text, via: text, at: when }).optional(),
    reminded_at: when.optional(),
    escalated_at: when.optional(),
    on_expiry: z.literal("denied"),
    how_to_approve: text,
    decision: vote.optional(),
    viewer: viewer.optional().openapi({ description: "What you may decide." }),
    grant: grant.optional(),
  })
  .openapi("Approval");
export type ApprovalView = View<typeof approval>;

const page = z.object({
  approvals: z.array(approval),
  next_after: text.optional(),
  waiting: z
    .object({ safe: whole, medium: whole, high: whole, critical: whole })
    .optional()
    .openapi({ description: "On the first page of what is pending: how many there are, by risk." }),
});
export type ApprovalPageView = View<typeof page>;
export type WaitingCounts = NonNullable<ApprovalPageView["waiting"]>;

const noBody = {
  reason: reason.optional().describe("Recorded, and shown to the agent."),
  expected_digest: digest
    .optional()
    .describe("Of what you saw (its `shown_digest`): nothing is decided when it changed."),
};
const yesBody = {
  ...noBody,
  confirmation: z.string().max(256).optional().describe("The tool's name, typed: for what is critical."),
  remember: remember.optional(),
};
export const batchAnswer = z.object({
  approval_id: text,
  decided: z.boolean(),
  approval: approval.optional(),
  error: z.object({ code: text, message: text }).optional(),
});
export type BatchAnswer = View<typeof batchAnswer>;

export const approvals = {
  list: route("get", "/v1/approvals", "approvals:read", {
    summary:
      "Requests for approval, one page at a time: pending ones by urgency, `decided` ones new to old, all others old to new. `mine`: those that you may decide. An agent sees its own.",
    query: z.strictObject({
      state: z
        .enum([...approvalStates, "decided"])
        .optional()
        .describe("Only in this state."),
      risk: risk.optional().describe("Only of this risk."),
      tool: name.optional().describe("Only for this tool."),
      run_id: runId.optional().describe("Only of this run."),
      mine: z.boolean().optional().describe("Only what you may decide."),
      after: name.optional(),
      limit: limit.optional(),
    }),
    answer: page,
  }),
  show: route("get", "/v1/approvals/{id}", "approvals:read", {
    summary: "One request for approval: exactly what would run, why it needs approval, who is asked, until when.",
    answer: approval,
  }),
  approve: route("post", "/v1/approvals/{id}/approve", "approvals:decide", {
    summary: "Approve it as it is. With a quorum this is one vote.",
    body: z.strictObject(yesBody),
    answer: approval,
  }),
  deny: route("post", "/v1/approvals/{id}/deny", "approvals:decide", {
    summary: "Deny it: the tool does not run.",
    body: z.strictObject(noBody),
    answer: approval,
  }),
  skip: route("post", "/v1/approvals/{id}/skip", "approvals:decide", {
    summary: "Skip it: the agent goes on without it.",
    body: z.strictObject(noBody),
    answer: approval,
  }),
  modify: route("post", "/v1/approvals/{id}/modify", "approvals:decide", {
    summary: "Approve it with other arguments. They pass every gate now and when they run.",
    body: z.strictObject({ ...yesBody, arguments: jsonObject }),
    answer: approval,
  }),
  batch: route("post", "/v1/approvals/batch", "approvals:decide", {
    summary: "Decide similar requests of one run at once. Each has its own record and answer.",
    body: z.strictObject({
      ids: z.array(name).min(1).max(largestBatch),
      decision: z.enum(["approved", "denied", "skipped"]),
      reason: reason.optional(),
      expected_digests: z.record(name, digest).optional(),
    }),
    answer: z.object({ answers: z.array(batchAnswer) }),
  }),
  withdraw: route("post", "/v1/approvals/{id}/withdraw", "approvals:read", {
    summary: "Withdraw the request: by its requester, by an operator, or by a person whose agent asked.",
    body: reasonFields,
    answer: approval,
  }),
  revoke: route("post", "/v1/approvals/{id}/revoke", "approvals:decide", {
    summary: "Take back an approval that is not used yet: the call does not run.",
    body: reasonFields,
    answer: approval,
  }),
  resume: route("post", "/v1/approvals/{id}/resume", "calls:make", {
    summary: "Run the approved call once. A later resume answers its outcome.",
    answer: outcome,
  }),
};
