import { z } from "zod";
import { callStates } from "../records.ts";
import {
  autonomy,
  callId,
  component,
  flag,
  jsonObject,
  limit,
  name,
  oneAction,
  optional,
  principal,
  reason,
  requestedCall,
  risk,
  runId,
  search,
  text,
  time,
  traceId,
  when,
} from "./fields.ts";
import { outcome } from "./outcome.ts";
import { explanation } from "./policy.ts";
import { type Input, route, type View } from "./route.ts";

/** Who calls comes from the credential, never from here. What is here can only narrow what the credential grants. */
const request = z.strictObject({
  ...requestedCall,
  ...optional({ task_id: name, step_id: name, trace_id: traceId, idempotency_key: name }),
  tool_call_id: name
    .optional()
    .describe("The id that a model's provider gave the call: the same id in the same turn is the same call."),
  turn: name
    .optional()
    .describe("Names the response of the model that holds the call. Two equal calls of one turn are two calls."),
  ...optional({ patience: z.enum(["deny", "wait", "suspend"]), approval_wait_ms: z.int().min(0).max(86_400_000) }),
  reason: reason.optional().describe("The agent's own reason, shown to the approver."),
});
export type CallFields = Input<typeof request>;

const state = z.enum(callStates);

/** Where the time of a call went. A part that has not ended is missing. */
export const durations = z.object(
  optional({
    gate_ms: z.number().describe("From its arrival until the tool started or a person was asked, without waiting."),
    waiting_ms: z.number().describe("Until a person decided, and while a suspended call waited."),
    tool_ms: z.number().describe("Missing if nothing saw the end of the tool."),
  }),
);

export const call = component("Call", {
  call_id: text,
  key: text,
  state,
  ...oneAction,
  arguments: jsonObject,
  arguments_digest: text,
  requested_by: principal,
  run_id: text,
  trace_id: text,
  ...optional({ task_id: text, step_id: text, parent_id: text, autonomy_level: autonomy }),
  risk_level: risk,
  idempotency_key: text.optional(),
  idempotent: flag,
  retryable: flag,
  approval_id: text.optional(),
  arrived_at: when,
  ...optional({ started_at: when, ended_at: when }),
  durations,
  outcome: outcome.optional(),
});
export type CallView = View<typeof call>;

const page = z.object({ calls: z.array(call), next_before: text.optional() });

export const calls = {
  call: route("post", "/v1/calls", "calls:make", {
    summary: "Call a tool. The outcome is the body; 202 when it waits for a person.",
    body: request,
    answer: outcome,
  }),
  explain: route("post", "/v1/explain", "calls:make", {
    summary: "What would be decided about a call, and every rule that shaped it. Nothing is run.",
    body: request,
    answer: explanation,
  }),
  list: route("get", "/v1/calls", "calls:read", {
    summary: "Calls, new to old. An agent sees its own.",
    query: search({
      state,
      tool: name,
      run_id: runId,
      search: name.describe("Only where each word occurs, in names or arguments."),
      since: time.describe("Only those that arrived then or later."),
      before: callId,
      limit,
    }),
    answer: page,
  }),
  show: route("get", "/v1/calls/{id}", "calls:read", {
    summary: "One call, by its id or its key.",
    answer: call,
  }),
  settle: route("post", "/v1/calls/{id}/settle", "calls:settle", {
    summary: "Say how a call ended whose outcome is unknown.",
    body: z.strictObject({ outcome: z.enum(["succeeded", "failed", "retry"]), reason }),
    answer: call,
  }),
  reconcile: route("post", "/v1/calls/{id}/reconcile", "calls:settle", {
    summary: "Ask the tool itself how a call ended whose outcome is unknown.",
    answer: call,
  }),
};
