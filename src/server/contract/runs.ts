import { z } from "@hono/zod-openapi";
import { approvalStates, callStates } from "../../core/states.ts";
import {
  callId,
  cursor,
  digest,
  json,
  jsonObject,
  limit,
  name,
  position,
  reason,
  risk,
  text,
  when,
  whole,
} from "./fields.ts";
import { route, type View } from "./route.ts";

export const run = z
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
      reasons: z.array(z.object({ result: z.enum(["failed", "incomplete", "blocked"]), code: text, message: text })),
    }),
  })
  .openapi("Run");
export type RunView = View<typeof run>;

const page = z.object({ runs: z.array(run), next_after: text.optional() });
export type RunPageView = View<typeof page>;

const runEvent = z
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
    data: jsonObject,
    correlation_id: text.optional().openapi({ description: "The call." }),
    parent_event_id: text.optional(),
  })
  .openapi("RunEvent");
export type RunEventView = View<typeof runEvent>;

const verification = z
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
export type RunVerificationView = View<typeof verification>;

/** A call on the timeline of its run: no arguments and no results. */
export const timelineCall = z
  .object({
    call_id: text,
    key: text.optional().openapi({ description: "`parent_id` of the calls that this script made." }),
    state: z.enum([...callStates, "refused"]).openapi({ description: "`refused`: it was not recorded as a call." }),
    tool: text,
    action: text,
    agent: text.optional(),
    user: text.optional(),
    parent_id: text.optional(),
    line: whole.optional().openapi({ description: "Of the script that made it, from 1, if its engine knows it." }),
    risk_level: risk.optional(),
    idempotent: z.boolean().optional(),
    retryable: z.boolean().optional(),
    code: text.optional().openapi({ description: "Of the refusal." }),
    message: text.optional(),
    arrived_at: when,
    started_at: when.optional(),
    ended_at: when.optional(),
    approval: z
      .object({
        approval_id: text,
        status: z.enum(approvalStates),
        asked_at: when,
        expires_at: when,
        decided_at: when.optional(),
        decided_as: text.optional(),
        decided_by: text.optional(),
      })
      .optional(),
    artifacts: z.array(z.object({ digest, media_type: text.optional(), name: text.optional() })),
  })
  .openapi("TimelineCall");
export type TimelineCall = View<typeof timelineCall>;
export type TimelineApproval = NonNullable<TimelineCall["approval"]>;

const timeline = z
  .object({
    run_id: text,
    calls: z.array(timelineCall),
    scripts: z
      .array(timelineCall)
      .optional()
      .openapi({ description: "Scripts that made calls of this page and are on another page." }),
    next_before: text.optional(),
  })
  .openapi("Timeline");
export type TimelinePage = View<typeof timeline>;

const longText = z.string().max(1_000_000, "is longer than a million characters");
const about = z.strictObject({
  task: z.union([longText, jsonObject]).optional(),
  task_id: name.optional(),
  prompt: longText.optional(),
  system_prompt: longText.optional(),
  transcript: longText.optional().openapi({ description: "Added to what is there; the other fields replace." }),
  deliverables: z.array(name).max(1_000).optional(),
});

export const runs = {
  list: route("get", "/v1/runs", "runs:read", {
    summary: "Runs, the latest first. An agent sees its own.",
    query: z.strictObject({
      agent: name.optional(),
      limit: limit.optional(),
      after: cursor("live", "stored").optional(),
    }),
    answer: page,
  }),
  show: route("get", "/v1/runs/{id}", "runs:read", {
    summary: "One run: its state, counts, deliverables and result.",
    answer: run,
  }),
  events: route("get", "/v1/runs/{id}/events", "runs:read", {
    summary: "Events of a run after a sequence number, in order. A `type` that ends in `.` is a prefix.",
    query: z.strictObject({ after: position.optional(), type: name.optional(), limit: limit.optional() }),
    answer: z.object({ events: z.array(runEvent), next_after: whole.optional() }),
  }),
  timeline: route("get", "/v1/runs/{id}/timeline", "runs:read", {
    summary:
      "Calls of a run, new to old: when each arrived, was asked about, decided, started and ended. An agent sees its own.",
    query: z.strictObject({ before: callId.optional(), limit: limit.optional() }),
    answer: timeline,
  }),
  verify: route("get", "/v1/runs/{id}/verify", "runs:export", {
    summary: "Compare the run's folder with the audit log: edits, cuts, changes of order and missing lines are named.",
    answer: verification,
  }),
  export: route("get", "/v1/runs/{id}/export", "runs:export", {
    summary: "The run's folder as a tar archive.",
    answer: "application/x-tar",
  }),
  begin: route("post", "/v1/runs/{id}/begin", "runs:write", {
    summary: "Begin a run and say what it is for. The run belongs to the agent that begins it or calls in it first.",
    body: about,
    answer: run,
  }),
  describe: route("post", "/v1/runs/{id}/describe", "runs:write", {
    summary: "Add to what is known of a run: its task, prompts, transcript and expected deliverables.",
    body: about,
    answer: run,
  }),
  finish: route("post", "/v1/runs/{id}/finish", "runs:write", {
    summary: "End a run: its deliverables are looked for, its folder is sealed in the audit log, its result is stated.",
    body: z.strictObject({ state: z.enum(["completed", "failed"]).optional(), reason: reason.optional() }),
    answer: run,
  }),
};

/** Conversations of agents whose loop runs in another process. Each caller has its own, and sees no other. */
export const agentRuns = {
  list: route("get", "/v1/agent-runs", "calls:make", {
    summary: "Ids of the caller's own agent runs, from the last to the first in the order of their characters.",
    query: z.strictObject({ limit: limit.optional() }),
    answer: z.object({ run_ids: z.array(text) }),
  }),
  show: route("get", "/v1/agent-runs/{id}", "calls:make", {
    summary: "One of the caller's own agent runs: what was kept last, and what its skills add to the system prompt.",
    answer: z
      .object({
        run_id: text,
        version: whole,
        state: json.openapi({ description: "What the loop keeps: the conversation, and how it goes on." }),
        instructions: text.openapi({ description: "What the run's skills add to the system prompt now." }),
      })
      .openapi("AgentRun"),
  }),
  save: route("put", "/v1/agent-runs/{id}", "calls:make", {
    summary: "Keep the state of an agent run in the place of version `expected_version` (0: there is none yet).",
    body: z.strictObject({ state: json, expected_version: whole.min(0) }),
    answer: z.object({ run_id: text, version: whole }),
  }),
};
