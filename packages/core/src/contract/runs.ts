import { z } from "zod";
import { approvalStates, callStates } from "../records.ts";
import { durations } from "./calls.ts";
import {
  callId,
  component,
  cursor,
  digest,
  each,
  flag,
  json,
  jsonObject,
  limit,
  name,
  oneAction,
  optional,
  position,
  reason,
  risk,
  search,
  text,
  texts,
  when,
  whole,
} from "./fields.ts";
import { route, type View } from "./route.ts";

const count = (help: string): typeof whole => whole.describe(help);

/** `run.json`, as written and as sent. */
export const run = component("Run", {
  run_id: text,
  tenant: text,
  principal: z
    .object({ agent: text, user: text.optional() })
    .optional()
    .describe("Who began it, by name or by its first call."),
  state: z
    .enum(["started", "running", "waiting", "completed", "failed", "stopped"])
    .describe("`waiting`: nothing runs, and a person must decide a request. `stopped`: closed without an end."),
  ...optional({ task_id: text, reason: text }),
  created_at: when,
  last_event_at: when,
  finished_at: when.optional(),
  counts: z.object({
    events: whole,
    started: count("Calls that ran, each once however often it was sent. Some have not ended."),
    completed: whole,
    failed: count("Calls with an unknown end count here until they are settled."),
    unknown: count(
      "Of the failed ones, those whose end is not known. Missing in records of an older Postern.",
    ).optional(),
    blocked: count("Arrivals that were refused; not those whose request is open still."),
    previewed: count("Arrivals that were shown what they would do: nothing ran."),
    replayed: count("Arrivals that were answered with what the same call had ended with: nothing ran."),
    waiting: count("Undecided approvals."),
    ...each(whole, "errors", "artifacts"),
  }),
  deliverables: z.object({ expected: texts, missing: texts.optional() }),
  governance: z
    .object({
      result: z.enum(["passed", "failed", "incomplete", "blocked"]),
      reasons: z.array(z.object({ result: z.enum(["failed", "incomplete", "blocked"]), code: text, message: text })),
    })
    .describe("What the run may be called after its end, worst reason first."),
});
export type RunView = View<typeof run>;

const page = z.object({ runs: z.array(run), next_after: text.optional() });
export type RunPageView = View<typeof page>;

/** One line of `events.jsonl`, as written and as sent. */
const runEvent = component("RunEvent", {
  event_id: text,
  sequence: whole.describe("From 1, without gaps. It gives the order."),
  run_id: text,
  session_id: text.nullable().describe("The session's trace: a session has one, and so has a call made alone."),
  task_id: text.nullable(),
  type: text,
  timestamp: when,
  actor: text,
  severity: z.enum(["debug", "info", "warning", "error"]),
  summary: text,
  data: jsonObject,
  correlation_id: text.optional().describe("The call."),
  parent_event_id: text.optional(),
});
export type RunEventView = View<typeof runEvent>;

/** A call on the timeline of its run: no arguments and no results. */
export const timelineCall = component("TimelineCall", {
  call_id: text,
  key: text.optional().describe("`parent_id` of the calls that this script made."),
  state: z.enum([...callStates, "refused"]).describe("`refused`: it was not recorded as a call."),
  ...oneAction,
  ...optional({ agent: text, user: text, parent_id: text }),
  line: whole.optional().describe("Of the script that made it, from 1, if its engine knows it."),
  ...optional({ risk_level: risk, idempotent: flag, retryable: flag }),
  code: text.optional().describe("Of the refusal."),
  message: text.optional(),
  arrived_at: when,
  ...optional({ started_at: when, ended_at: when }),
  durations,
  approval: z
    .object({
      approval_id: text,
      status: z.enum(approvalStates),
      asked_at: when,
      expires_at: when,
      ...optional({ decided_at: when, decided_as: text, decided_by: text }),
    })
    .optional(),
  artifacts: z.array(z.object({ digest, media_type: text.optional(), name: text.optional() })),
});
export type TimelineCall = View<typeof timelineCall>;
export type TimelineApproval = NonNullable<TimelineCall["approval"]>;

const timeline = component("Timeline", {
  run_id: text,
  calls: z.array(timelineCall),
  scripts: z.array(timelineCall).optional().describe("Scripts that made calls of this page and are on another page."),
  next_before: text.optional(),
});
export type TimelinePage = View<typeof timeline>;

const longText = z.string().max(1_000_000, "is longer than a million characters");
const about = z.strictObject({
  ...optional({ task: z.union([longText, jsonObject]), task_id: name, prompt: longText, system_prompt: longText }),
  transcript: longText.optional().describe("Added to what is there; the other fields replace."),
  deliverables: z.array(name).max(1_000).optional(),
});

export const runs = {
  list: route("get", "/v1/runs", "runs:read", {
    summary: "Runs, the latest first. An agent sees its own.",
    query: search({ agent: name, limit, after: cursor("live", "stored") }),
    answer: page,
  }),
  show: route("get", "/v1/runs/{id}", "runs:read", {
    summary: "One run: its state, counts, deliverables and result.",
    answer: run,
  }),
  events: route("get", "/v1/runs/{id}/events", "runs:read", {
    summary: "Events of a run after a sequence number, in order. A `type` that ends in `.` is a prefix.",
    query: search({ after: position, type: name, limit }),
    answer: z.object({ events: z.array(runEvent), next_after: whole.optional() }),
  }),
  timeline: route("get", "/v1/runs/{id}/timeline", "runs:read", {
    summary:
      "Calls of a run, new to old: when each arrived, was asked about, decided, started and ended. An agent sees its own.",
    query: search({ before: callId, limit }),
    answer: timeline,
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
    summary: "End a run: its deliverables are looked for, its manifest is written, its result is stated.",
    body: z.strictObject(optional({ state: z.enum(["completed", "failed"]), reason })),
    answer: run,
  }),
};

/** Conversations of agents whose loop runs in another process. Each caller has its own, and sees no other. */
export const agentRuns = {
  list: route("get", "/v1/agent-runs", "calls:make", {
    summary: "Ids of the caller's own agent runs, from the last to the first in the order of their characters.",
    query: search({ limit }),
    answer: z.object({ run_ids: texts }),
  }),
  show: route("get", "/v1/agent-runs/{id}", "calls:make", {
    summary: "One of the caller's own agent runs: what was kept last, and what its skills add to the system prompt.",
    answer: component("AgentRun", {
      run_id: text,
      version: whole,
      state: json.meta({ description: "What the loop keeps: the conversation, and how it goes on." }),
      instructions: text.describe("What the run's skills add to the system prompt now."),
    }),
  }),
  save: route("put", "/v1/agent-runs/{id}", "calls:make", {
    summary:
      "Keep the state of an agent run in the place of version `expected_version` (0: there is none yet): at most 1 MB, and one call of the budget.",
    body: z.strictObject({ state: json, expected_version: whole.min(0) }),
    answer: z.object({ run_id: text, version: whole }),
  }),
  remove: route("delete", "/v1/agent-runs/{id}", "calls:make", {
    summary: "Delete one of the caller's own agent runs.",
    answer: z.void(),
    status: 204,
  }),
};
