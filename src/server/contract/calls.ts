import { z } from "@hono/zod-openapi";
import { callStates } from "../../core/states.ts";
import {
  autonomy,
  callId,
  jsonObject,
  limit,
  name,
  principal,
  reason,
  risk,
  runId,
  text,
  traceId,
  when,
} from "./fields.ts";
import { outcome } from "./outcome.ts";
import { explanation } from "./policy.ts";
import { type Input, route, type View } from "./route.ts";

/** Who calls comes from the credential, never from here. What is here can only narrow what the credential grants. */
const request = z.strictObject({
  tool: name,
  action: name.optional(),
  arguments: jsonObject.optional(),
  run_id: runId.optional(),
  task_id: name.optional(),
  step_id: name.optional(),
  trace_id: traceId.optional(),
  scopes: z.array(name).max(256).optional(),
  autonomy: autonomy.optional(),
  idempotency_key: name.optional(),
  tool_call_id: name.optional().openapi({
    description: "The id that a model's provider gave the call: the same id in the same run is the same call.",
  }),
  patience: z.enum(["deny", "wait", "suspend"]).optional(),
  approval_wait_ms: z.int().min(0).max(86_400_000).optional(),
  reason: reason.optional().openapi({ description: "The agent's own reason, shown to the approver." }),
});
export type CallFields = Input<typeof request>;

const state = z.enum(callStates);

export const call = z
  .object({
    call_id: text,
    key: text,
    state,
    tool: text,
    action: text,
    arguments: jsonObject,
    arguments_digest: text,
    requested_by: principal,
    run_id: text,
    trace_id: text,
    task_id: text.optional(),
    step_id: text.optional(),
    parent_id: text.optional(),
    autonomy_level: autonomy.optional(),
    risk_level: risk,
    idempotency_key: text.optional(),
    idempotent: z.boolean(),
    retryable: z.boolean(),
    approval_id: text.optional(),
    arrived_at: when,
    started_at: when.optional(),
    ended_at: when.optional(),
    outcome: outcome.optional(),
  })
  .openapi("Call");
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
    query: z.strictObject({
      state: state.optional(),
      tool: name.optional(),
      run_id: runId.optional(),
      before: callId.optional(),
      limit: limit.optional(),
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
