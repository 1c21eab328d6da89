import {
  type CallRecord,
  type ChainSummary,
  defined,
  newTraceId,
  noOpaqueFields,
  type ToolOutcome,
  toCamelCase,
} from "@postern/core";
import { call as callSchema, calls, chains, type Input, name, shape } from "@postern/core/contract";
import type { CallContext, CallRequest, Runtime, SettledAnswer } from "../../runtime/api/api.ts";
import type { Who } from "../credentials.ts";
import { callToWire, chainToWire, explanationToWire } from "../wire.ts";
import { answerOutcome, problem } from "./answers.ts";
import { inBudget, spendOne } from "./budget.ts";
import { actorOf, approvalOf, askerOf, visibleCall, visibleCalls } from "./caller.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";

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
    const { limit = 100 } = query;
    const records = await visibleCalls(runtime, by, { ...toCamelCase(query, noOpaqueFields), limit });
    const next = records.length === limit ? records.at(-1)?.call.id : undefined;
    return { calls: await Promise.all(records.map((record) => shownCall(runtime, record))), next_before: next };
  },
  show: async ({ runtime, by, part }) => {
    const record = await visibleCall(runtime, by, part("id"));
    return record === undefined ? unknownCall(part("id")) : shownCall(runtime, record);
  },
  settle: async ({ runtime, by, part, body }) => {
    if ((await visibleCall(runtime, by, part("id"))) === undefined) return unknownCall(part("id"));
    return answerSettled(runtime, await runtime.ledger.settle(part("id"), body.outcome, body.reason, actorOf(by)));
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
    return answerSettled(runtime, await runtime.ledger.reconcile(part("id")));
  },
});

export const chainRoutes: readonly Route[] = serve(chains, {
  list: async ({ runtime, by, query }) => {
    if (runtime.chains === undefined) return { chains: [], engines: [] };
    const { tenant } = by.principal;
    const { limit = 100 } = query;
    const where = { tenant, ...toCamelCase(query, noOpaqueFields), limit, ...askerOf(by) };
    const listed = await runtime.chains.list(where);
    const engines = await runtime.chains.engines();
    return {
      chains: listed.map(chainToWire),
      next_before: listed.length === limit ? listed.at(-1)?.callId : undefined,
      engines: engines.map((engine) => ({ ...engine, down: engine.isDown })),
    };
  },
  resume: async (request) => {
    const { runtime, by, part, signal } = request;
    const record = await visibleCall(runtime, by, part("id"));
    if (record !== undefined) {
      const isWaiting = await waits(runtime, record);
      const refused = isWaiting ? await spendOne(request) : undefined;
      if (refused !== undefined) return refused;
      if (!isWaiting) await noteResumed(runtime, by, record);
    }
    const outcome = record && (await runtime.chains?.resume(record.call.id, { ...askerOf(by), signal }));
    if (outcome !== undefined) return answerOutcome(outcome, record?.call.tool ?? "");
    return problem(
      "call_unknown",
      `No script \`${part("id")}\` waits; \`postern calls show ${part("id")}\` says what became of it.`,
    );
  },
});

/** A script whose requests are all undecided does not run on, so a resume of it is only a question. */
async function waits(runtime: Runtime, { state, call }: CallRecord): Promise<boolean> {
  if (state !== "suspended" && state !== "unknown") return false;
  const scripts = (await runtime.chains?.list({ runId: call.authority.runId, limit: 1000 })) ?? [];
  return areUndecided(runtime, scripts.find(({ callId }) => callId === call.id)?.waiting ?? []);
}

/** Whether a script waits for requests and none of them is decided. */
export async function areUndecided(runtime: Runtime, waiting: ChainSummary["waiting"]): Promise<boolean> {
  const asked = await Promise.all(waiting.map(({ approvalId }) => runtime.approvals.get(approvalId)));
  return asked.length > 0 && asked.every((approval) => approval?.state === "pending");
}

/** A person who resumes a script acts by hand. An agent resumes its own. */
async function noteResumed(runtime: Runtime, by: Who, { state, call }: CallRecord): Promise<void> {
  if (by.kind !== "person" || (state !== "suspended" && state !== "unknown")) return;
  const { principal, runId } = call.authority;
  await runtime.note("operator.action.call_resumed", `The script of ${principal.agent} is let go on`, {
    ...actorOf(by),
    data: { call_id: call.id, tool: call.tool, run: runId },
  });
}

export function requestOf({
  tool,
  action,
  arguments: input,
  text_arguments: textArguments,
}: Pick<CallRequested["body"], "tool" | "action" | "arguments" | "text_arguments">): CallRequest {
  return defined({ tool, action, arguments: input, textArguments });
}

function callIn(request: CallRequested, context: CallContext): Promise<ToolOutcome> {
  const { traceId = newTraceId(), ...own } = context;
  return inBudget(request, own.runId, ({ invoke }) => invoke(requestOf(request.body), { ...own, traceId }));
}

/** The caller comes from the token alone; what the body claims can only narrow what the token grants. */
function contextOf({ body, by, headers, signal }: CallRequested): CallContext | Response {
  const { tool: _tool, action: _action, arguments: _arguments, text_arguments: _texts, ...claims } = body;
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
  const claimed = toCamelCase(claims, noOpaqueFields);
  return { ...claimed, ...defined({ idempotencyKey: header }), principal: by.principal, scopes, signal };
}

async function shownCall(runtime: Runtime, record: CallRecord): Promise<Input<typeof callSchema>> {
  return callToWire(record, await approvalOf(runtime, record));
}

async function answerSettled(runtime: Runtime, settled: SettledAnswer): Promise<Response | Input<typeof callSchema>> {
  if (settled.settled) return shownCall(runtime, settled.call);
  const beside = settled.call && { beside: { call: shape(callSchema, await shownCall(runtime, settled.call)) } };
  return problem(settled.why, settled.message, beside);
}

export function unknownCall(id: string): Response {
  return problem("call_unknown", `There is no call \`${id.slice(0, 200)}\`.`);
}
