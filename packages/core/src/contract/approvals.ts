import { z } from "zod";
import { largestBatch, longestComment } from "../decision-text.ts";
import { approvalStates, callStates } from "../records.ts";
import {
  author,
  component,
  decisionReason,
  digest,
  each,
  flag,
  jsonObject,
  limit,
  name,
  oneAction,
  optional,
  principal,
  reason,
  reasonFields,
  risk,
  runId,
  search,
  text,
  texts,
  when,
  whole,
} from "./fields.ts";
import { grant, remember } from "./grants.ts";
import { outcome, preview } from "./outcome.ts";
import { type Input, route, type View } from "./route.ts";

const state = z.enum(approvalStates);
const verb = z.enum(["approve", "deny", "skip", "modify"]);
export type DecisionVerb = View<typeof verb>;

const addressees = component("Addressees", optional({ roles: texts, groups: texts, users: texts }));
export type AddresseesView = View<typeof addressees>;

const vote = component("Vote", {
  as: text,
  ...author,
  reason: text.optional(),
});

const viewer = z
  .object({
    may: z.array(verb),
    why_not: z
      .enum(["over", "requester", "credential", "not_asked", "sign_in", "voted", "role"])
      .optional()
      .describe("Why you may not approve it; `message` says it in a sentence."),
    message: text.optional(),
    withdraws: z.literal(true).optional().describe("You or an agent of yours asked for it, and you may withdraw it."),
  })
  .meta({ id: "ApprovalViewer", description: "What you may decide." });
export type ViewerView = View<typeof viewer>;
export type ViewerInput = Input<typeof viewer>;

const artifact = z.object({
  ...each(text, "path", "digest", "media_type"),
  bytes: whole,
  text: text.optional().describe("Without it, the artifact is too large to look at."),
});
export type ArtifactView = View<typeof artifact>;

const routed = z.object({
  rule: text,
  to: addressees,
  quorum: whole,
  ...each(flag, "typed_confirmation", "separate_user", "signed_in"),
  ...optional({ remind_at: when, escalate_at: when, escalate_to: addressees }),
});

const subAgent = z.object({
  scopes: texts,
  ...optional({ autonomy_level: text, max_risk_unapproved: risk }),
  tools: texts.optional().describe("Without it: every tool that its caller may use."),
});

export const approval = component("Approval", {
  approval_id: text,
  status: state,
  call_state: z.enum(callStates).optional().describe("Of a used approval: the state of the call that used it."),
  created_at: when,
  expires_at: when,
  trace_id: text,
  refs: z.object({ run: text, key: text }),
  requested_by: principal,
  risk_level: risk,
  autonomy_level: text.optional(),
  what: z
    .object({
      ...oneAction,
      arguments: jsonObject,
      artifacts: z.array(artifact).optional().describe("What the artifacts hold that the arguments name."),
    })
    .describe("Exactly what runs if it is approved."),
  asked: jsonObject.optional().meta({ description: "The arguments as they were sent, where they were edited." }),
  asked_preview: preview.optional(),
  why: z.array(decisionReason),
  ...optional({ summary: text, preview, preview_digest: text }),
  preview_binds: z
    .boolean()
    .optional()
    .describe("Whether the preview must be the same when the call runs; `false`: it may differ then."),
  ...each(text, "policy_version", "definition", "binding"),
  digest: text.describe("SHA-256 over the RFC 8785 text of `what.arguments`."),
  shown_digest: text.describe("Of all that is shown of what would run; a decision carries it as `expected_digest`."),
  input_schema: jsonObject.optional().meta({ description: "Of the tool as it is now. Not in lists." }),
  sub_agent: subAgent
    .optional()
    .describe("Of a tool of the type `A2A`: what its sub-agent may do at most. Not in lists."),
  routed: routed.describe("What a decision needs."),
  votes: z.array(vote),
  quorum_left: whole.describe("How many different people must still approve."),
  remembers_allowed: flag,
  run_calls: whole.optional(),
  reason: text.optional().describe("The agent's own reason. It is not checked."),
  comments: z
    .array(z.object({ ...author, text }))
    .optional()
    .describe("What people wrote to the agent without deciding, oldest first."),
  ...optional({ edited: z.object(author), reminded_at: when, escalated_at: when }),
  on_expiry: z.literal("denied"),
  how_to_approve: text,
  ...optional({ decision: vote, viewer, grant }),
});
export type ApprovalView = View<typeof approval>;

const page = z.object({
  approvals: z.array(approval),
  next_after: text.optional(),
  waiting: z
    .object({ safe: whole, medium: whole, high: whole, critical: whole })
    .optional()
    .describe("On the first page of what is pending: how many there are, by risk. Not of a search."),
  soon_until: when
    .optional()
    .describe("Of what is pending: requests that end until then come first, on all pages of one reading."),
});
export type ApprovalPageView = View<typeof page>;
export type WaitingCounts = NonNullable<ApprovalPageView["waiting"]>;

const denial = optional({
  reason: reason.describe("Recorded, and shown to the agent."),
  expected_digest: digest.describe("Of what you saw (its `shown_digest`): nothing is decided when it changed."),
});
const approving = {
  ...denial,
  ...optional({
    confirmation: z.string().max(256).describe("The tool's name, typed: for what is critical."),
    remember,
  }),
};
export const batchAnswer = z.object({
  approval_id: text,
  decided: flag,
  ...optional({ approval, error: z.object({ code: text, message: text }) }),
});
export type BatchAnswer = View<typeof batchAnswer>;

const group = component("ApprovalGroup", {
  ...optional({ risk, tool: text, agent: text, run_id: text }),
  waiting: whole.describe("How many of them can be decided now."),
  oldest_at: when,
  newest_at: when,
});
export type ApprovalGroupView = View<typeof group>;

const counts = component("ApprovalCounts", {
  requests: z.object(each(whole, ...approvalStates)).describe("By state; what was not used in time is `expired`."),
  unknown_calls: whole.describe("Calls whose end is not known."),
});
export type ApprovalCountsView = View<typeof counts>;

const shared = /^(?:risk|tool|agent|run_id)(?:,(?:risk|tool|agent|run_id))*$/;
const narrowed = {
  risk: risk.describe("Only of this risk."),
  tool: name.describe("Only for this tool."),
  agent: name.describe("Only of this agent."),
  run_id: runId.describe("Only of this run."),
  mine: flag.describe("Only what you may decide."),
};

export const approvals = {
  list: route("get", "/v1/approvals", "approvals:read", {
    summary:
      "Requests for approval, one page at a time: pending ones that end within five minutes, then by risk, critical ones new to old, others old to new; `decided` ones new to old, all others old to new. `mine`: those that you may decide. An agent sees its own.",
    query: search({
      state: z.enum([...approvalStates, "decided"]).describe("Only in this state."),
      ...narrowed,
      search: name.describe("Only where each word occurs, in names, arguments, summaries or reasons."),
      after: name,
      limit,
    }),
    answer: page,
  }),
  groups: route("get", "/v1/approvals/groups", "approvals:read", {
    summary:
      "Groups of pending requests that are equal in the members of `by`, the largest first; 100 without a limit. The list with these members has their requests. An agent sees its own.",
    query: search({
      by: z
        .string()
        .regex(shared, "must be some of risk, tool, agent, run_id, separated by commas")
        .describe("Some of `risk`, `tool`, `agent`, `run_id`, separated by commas. Without it, all are one group."),
      ...narrowed,
      limit,
    }),
    answer: z.object({ groups: z.array(group) }),
  }),
  counts: route("get", "/v1/approvals/counts", "controls:read", {
    summary: "How many requests of your tenant are in each state, and how many of its calls have an unknown end.",
    answer: counts,
  }),
  show: route("get", "/v1/approvals/{id}", "approvals:read", {
    summary: "One request for approval: exactly what would run, why it needs approval, who is asked, until when.",
    answer: approval,
  }),
  approve: route("post", "/v1/approvals/{id}/approve", "approvals:decide", {
    summary: "Approve it as it is. With a quorum this is one vote.",
    body: z.strictObject(approving),
    answer: approval,
  }),
  deny: route("post", "/v1/approvals/{id}/deny", "approvals:decide", {
    summary: "Deny it: the tool does not run.",
    body: z.strictObject(denial),
    answer: approval,
  }),
  skip: route("post", "/v1/approvals/{id}/skip", "approvals:decide", {
    summary: "Skip it: the agent goes on without it.",
    body: z.strictObject(denial),
    answer: approval,
  }),
  modify: route("post", "/v1/approvals/{id}/modify", "approvals:decide", {
    summary: "Approve it with other arguments. They pass every gate now and when they run.",
    body: z.strictObject({ ...approving, arguments: jsonObject }),
    answer: approval,
  }),
  batch: route("post", "/v1/approvals/batch", "approvals:decide", {
    summary: "Decide similar requests of one run at once. Each has its own record and answer.",
    body: z.strictObject({
      ids: z.array(name).min(1).max(largestBatch),
      decision: z.enum(["approved", "denied", "skipped"]),
      ...optional({ reason, expected_digests: z.record(name, digest) }),
    }),
    answer: z.object({ answers: z.array(batchAnswer) }),
  }),
  comment: route("post", "/v1/approvals/{id}/comments", "approvals:decide", {
    summary: "Write to the agent about its request, without deciding it. It reads that with its next `pending` answer.",
    body: z.strictObject({
      text: z
        .string()
        .min(1, "must not be empty")
        .max(longestComment, `is longer than ${longestComment} characters`)
        .describe("Shown to all who see the request, and to the agent as the words of a person."),
    }),
    answer: approval,
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
