import { isOperatorsSide } from "../../core/authority.ts";
import { given } from "../../core/given.ts";
import { newTraceId } from "../../core/ids.ts";
import { canonical } from "../../core/json.ts";
import type { ToolOutcome } from "../../core/outcome.ts";
import type { CallContext, CallRequest, SettledAnswer } from "../../runtime/api.ts";
import { call as callSchema, calls } from "../contract/calls.ts";
import { name } from "../contract/fields.ts";
import { type Input, shape } from "../contract/route.ts";
import { callToWire } from "../contract/wire.ts";
import { explanationToWire } from "../contract/wire-tools.ts";
import { answerOutcome, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";
import { visibleCall, visibleCalls } from "./visible.ts";

type CallRequested = RouteRequest<typeof calls.call | typeof calls.explain>;

export const callRoutes: readonly Route[] = serve(calls, {
  call: async (request) => {
    const context = contextOf(request);
    return context instanceof Response ? context : answerOutcome(await callIn(request, context), request.body.tool);
  },
  explain: async (request) => {
    const context = contextOf(request);
    if (context instanceof Response) return context;
    const explanation = await request.runtime.explain(requestOf(request.body), context);
    return explanationToWire(explanation, request.by.kind === "person");
  },
  list: async ({ runtime, by, query }) => {
    const { limit = 100, run_id: runId, ...where } = query;
    const records = await visibleCalls(runtime, by, { ...given({ ...where, runId }), limit });
    const next = records.length === limit ? records.at(-1)?.call.id : undefined;
    return { calls: records.map(callToWire), next_before: next };
  },
  show: async ({ runtime, by, part }) => {
    const record = await visibleCall(runtime, by, part("id"));
    return record === undefined ? unknownCall(part("id")) : callToWire(record);
  },
  settle: async ({ runtime, by, part, body }) => {
    if ((await visibleCall(runtime, by, part("id"))) === undefined) return unknownCall(part("id"));
    return answerSettled(await runtime.ledger.settle(part("id"), body.outcome, body.reason, actorOf(by)));
  },
  reconcile: async ({ runtime, by, part }) => {
    const record = await visibleCall(runtime, by, part("id"));
    if (record === undefined) return unknownCall(part("id"));
    const { key, state, call } = record;
    if (state === "unknown")
      await runtime.note("operator.action.call_reconciled", `${call.tool} is asked what became of a call`, {
        ...actorOf(by),
        data: { call_id: key, tool: call.tool, run: call.authority.runId },
      });
    return answerSettled(await runtime.ledger.reconcile(part("id")));
  },
});

function requestOf({ tool, action, arguments: given }: CallRequested["body"]): CallRequest {
  return {
    tool,
    ...(action !== undefined && { action }),
    ...(given !== undefined && { arguments: given }),
  };
}

/**
 * One budget for each principal, as its credential names it (D17), and for each run of the operator's side: whoever else
 * names runs opens no budget with them. A session's calls are asked by the credential that opened it, so two credentials
 * share none.
 */
function callIn({ windows, by, body }: CallRequested, context: CallContext): Promise<ToolOutcome> {
  const { principal, scopes } = by;
  const { traceId = newTraceId(), ...own } = context;
  const { tenant, agent, user = null, via = null } = principal;
  const run = isOperatorsSide(principal) ? own.runId : undefined;
  const whose = canonical([tenant, agent, user, via, run ?? windows.today]);
  return windows.use(whose, { principal, scopes }, ({ invoke }) => invoke(requestOf(body), { ...own, traceId }));
}

/** Who it is comes from the token alone; what the body claims can only narrow what the token grants (DESIGN 3). */
function contextOf({ body, by, headers, signal }: CallRequested): CallContext | Response {
  const header = headers.get("idempotency-key") ?? undefined;
  if (header !== undefined && body.idempotency_key !== undefined && header !== body.idempotency_key) {
    return problem(
      "request_invalid",
      "The `Idempotency-Key` header and `idempotency_key` name two different keys; send one.",
    );
  }
  if (header !== undefined && !name.safeParse(header).success) {
    return problem(
      "request_invalid",
      "The `Idempotency-Key` header must hold 1 to 256 characters and no control character.",
    );
  }
  const key = header ?? body.idempotency_key;
  return {
    principal: by.principal,
    signal,
    scopes: (body.scopes ?? []).filter((scope) => by.scopes.includes(scope) || by.scopes.includes("*")),
    ...(key !== undefined && { idempotencyKey: key }),
    ...(body.run_id !== undefined && { runId: body.run_id }),
    ...(body.trace_id !== undefined && { traceId: body.trace_id }),
    ...(body.task_id !== undefined && { taskId: body.task_id }),
    ...(body.step_id !== undefined && { stepId: body.step_id }),
    ...(body.autonomy !== undefined && { autonomy: body.autonomy }),
    ...(body.tool_call_id !== undefined && { toolCallId: body.tool_call_id }),
    ...(body.patience !== undefined && { patience: body.patience }),
    ...(body.approval_wait_ms !== undefined && { approvalWaitMs: body.approval_wait_ms }),
    ...(body.reason !== undefined && { reason: body.reason }),
  };
}

function answerSettled(settled: SettledAnswer): Response | Input<typeof callSchema> {
  if (settled.settled) return callToWire(settled.call);
  const beside = settled.call && { beside: { call: shape(callSchema, callToWire(settled.call)) } };
  return problem(settled.why, settled.message, beside);
}

export function unknownCall(id: string): Response {
  return problem("call_unknown", `There is no call \`${id.slice(0, 200)}\`.`);
}
