import { z } from "@hono/zod-openapi";
import { isOperatorsSide } from "../../calls/authority.ts";
import { given } from "../../calls/given.ts";
import { newTraceId } from "../../calls/ids.ts";
import { canonical } from "../../calls/json.ts";
import type { ToolOutcome } from "../../calls/outcome.ts";
import type { CallState } from "../../calls/records.ts";
import type { CallContext, CallRequest, Settled } from "../../face.ts";
import type { Who } from "../credentials.ts";
import { callToWire, contextFromWire } from "../wire.ts";
import { explanationToWire } from "../wire-tools.ts";
import { callAnswer, callsAnswer, explanationAnswer, outcomeAnswer } from "./answer-schemas.ts";
import { answer, answerOutcome, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { type CallFields, callFields, callId, callState, limit, name, reason, runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";
import { visibleCall, visibleCalls } from "./visible.ts";

interface CallQuery {
  readonly state?: CallState | undefined;
  readonly tool?: string | undefined;
  readonly run_id?: string | undefined;
  readonly before?: string | undefined;
  readonly limit?: number | undefined;
}

const callQuery: z.ZodType<CallQuery> = z.strictObject({
  state: callState.optional(),
  tool: name.optional(),
  run_id: runId.optional(),
  before: callId.optional(),
  limit: limit.optional(),
});

interface SettleFields {
  readonly outcome: "succeeded" | "failed" | "retry";
  readonly reason: string;
}

const settleFields: z.ZodType<SettleFields> = z.strictObject({
  outcome: z.enum(["succeeded", "failed", "retry"]),
  reason,
});

export const callRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/v1/calls",
    needs: "calls:make",
    summary: "Call a tool. The outcome is the body; 202 when it waits for a person.",
    body: callFields,
    query: nothing,
    answers: outcomeAnswer,
    run: async (asked) => {
      const context = contextOf(asked);
      return context instanceof Response ? context : answerOutcome(await callIn(asked, context), asked.body.tool);
    },
  }),
  route({
    method: "post",
    path: "/v1/explain",
    needs: "calls:make",
    summary: "What would be decided about a call, and every rule that shaped it. Nothing is run.",
    body: callFields,
    query: nothing,
    answers: explanationAnswer,
    run: async (asked) => {
      const context = contextOf(asked);
      if (context instanceof Response) return context;
      const explanation = await asked.runtime.explain(requestOf(asked.body), context);
      return answer(explanationToWire(explanation, asked.by.kind === "person"));
    },
  }),
  route({
    method: "get",
    path: "/v1/calls",
    needs: "calls:read",
    summary: "Calls, new to old. An agent sees its own.",
    body: nothing,
    query: callQuery,
    answers: callsAnswer,
    run: ({ runtime, by, query }) => listCalls(runtime, by, query),
  }),
  route({
    method: "get",
    path: "/v1/calls/{id}",
    needs: "calls:read",
    summary: "One call, by its id or its key.",
    body: nothing,
    query: nothing,
    answers: callAnswer,
    run: async ({ runtime, by, part }) => {
      const record = await visibleCall(runtime, by, part("id"));
      return record === undefined ? unknownCall(part("id")) : answer(callToWire(record));
    },
  }),
  route({
    method: "post",
    path: "/v1/calls/{id}/settle",
    needs: "calls:settle",
    summary: "An operator's word on a call whose outcome is unknown (SPEC 9.6).",
    body: settleFields,
    query: nothing,
    answers: callAnswer,
    run: async ({ runtime, by, part, body }) => {
      if ((await visibleCall(runtime, by, part("id"))) === undefined) return unknownCall(part("id"));
      return answerSettled(await runtime.ledger.settle(part("id"), body.outcome, body.reason, actorOf(by)));
    },
  }),
  route({
    method: "post",
    path: "/v1/calls/{id}/reconcile",
    needs: "calls:settle",
    summary: "Ask the tool itself what became of a call whose outcome is unknown.",
    body: nothing,
    query: nothing,
    answers: callAnswer,
    run: async ({ runtime, by, part }) => {
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
  }),
];

async function listCalls(runtime: Asked<unknown, unknown>["runtime"], by: Who, query: CallQuery): Promise<Response> {
  const { limit: most = 100, run_id, ...where } = query;
  const records = await visibleCalls(runtime, by, { ...given({ ...where, runId: run_id }), limit: most });
  const next = records.length === most ? records.at(-1)?.call.id : undefined;
  return answer({ calls: records.map(callToWire), next_before: next });
}

function requestOf({ tool, action, arguments: given }: CallFields): CallRequest {
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
function callIn({ windows, by, body }: Asked<CallFields, unknown>, context: CallContext): Promise<ToolOutcome> {
  const { principal, scopes } = by;
  const { traceId = newTraceId(), ...own } = context;
  const { tenant, agent, user = null, via = null } = principal;
  const run = isOperatorsSide(principal) ? own.runId : undefined;
  const whose = canonical([tenant, agent, user, via, run ?? windows.today]);
  return windows.use(whose, { principal, scopes }, ({ invoke }) => invoke(requestOf(body), { ...own, traceId }));
}

/** Who it is comes from the token alone; what the body claims can only narrow what the token grants (DESIGN 3). */
function contextOf({ body, by, headers, signal }: Asked<CallFields, unknown>): CallContext | Response {
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
  const scopes = (body.scopes ?? []).filter((scope) => by.scopes.includes(scope) || by.scopes.includes("*"));
  const key = header === undefined ? {} : { idempotencyKey: header };
  return { ...contextFromWire(body), ...key, principal: by.principal, scopes, signal };
}

function answerSettled(settled: Settled): Response {
  if (settled.settled) return answer(callToWire(settled.call));
  return problem(settled.why, settled.message, settled.call && { beside: { call: callToWire(settled.call) } });
}

export function unknownCall(id: string): Response {
  return problem("call_unknown", `There is no call \`${id.slice(0, 200)}\`.`);
}
