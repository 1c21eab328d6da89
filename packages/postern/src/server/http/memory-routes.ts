import { defined } from "@postern/core";
import { candidate, type Input, memory, shape } from "@postern/core/contract";
import type {
  CandidateDecided,
  CandidateName,
  CandidateRecord,
  CandidateRuling,
  CandidateService,
} from "../../builtin/memory/candidate-service.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { candidateToWire } from "../wire.ts";
import { answer, problem } from "./answers.ts";
import { actorOf } from "./caller.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";

/** What agents proposed to remember, and a person's decision on it. */
export const memoryRoutes: readonly Route[] = serve(memory, {
  candidates: async (request) => {
    const { run_id: run, state, limit = 100 } = request.query;
    if (request.memory === undefined) return memoryOff();
    const found: CandidateRecord[] = [];
    for await (const record of candidatesOf(request.memory, request, { run })) {
      if (state === undefined || state === record.state) found.push(record);
      if (found.length === limit) break;
    }
    return { candidates: found.map(candidateToWire) };
  },
  accept: (request) =>
    decide(request, (service, name) =>
      service.accept(name, { ...rulingOf(request), again: request.body.again === true }),
    ),
  reject: (request) => decide(request, (service, name) => service.reject(name, rulingOf(request))),
});

type CandidateDecisionRequest = Pick<
  RouteRequest<typeof memory.reject>,
  "runtime" | "memory" | "by" | "body" | "part" | "signal"
>;

async function decide(
  request: CandidateDecisionRequest,
  rule: (service: CandidateService, name: CandidateName) => Promise<CandidateDecided>,
): Promise<Response | Input<typeof candidate>> {
  const { memory: service, by, body, part } = request;
  if (service === undefined) return memoryOff();
  const { tenant } = by.principal;
  const run = body.run_id ?? (await runOf(service, request, part("id")));
  if (run === undefined) return problem("candidate_unknown", `There is no memory candidate \`${part("id")}\`.`);
  const decided = await rule(service, { tenant, runId: run, id: part("id") });
  if (decided.decided) {
    await noteDecision(request, decided.candidate);
    return candidateToWire(decided.candidate);
  }
  const { code, message } = decided;
  const record = decided.candidate && shape(candidate, candidateToWire(decided.candidate));
  if (code === "candidate_waiting" && record !== undefined) return answer(record, 202);
  const beside = record && { beside: { candidate: record } };
  return problem(code === "candidate_waiting" ? "candidate_unclear" : code, message, beside);
}

/**
 * What the provider calls on an acceptance, it calls on the person's behalf, in a run of the person's and through the
 * gates. It is a credential of its own: when such a call is asked about, the person who accepted may answer, after having
 * seen what it is.
 */
function rulingOf({ runtime, by, body, signal }: CandidateDecisionRequest): CandidateRuling {
  const { principal, scopes } = by;
  const who = { ...principal, via: "memory:accept" };
  return {
    by: actorOf(by),
    ...(body.reason !== undefined && { reason: body.reason }),
    signal,
    call: (request, idempotencyKey) => {
      const granted = neededBy(runtime, request.tool).filter((scope) => scopes.includes("*") || scopes.includes(scope));
      return runtime.invoke(request, { principal: who, scopes: granted, idempotencyKey, signal });
    },
  };
}

/** A scope is named to be granted; the provider names none. */
function neededBy(runtime: Runtime, tool: string): readonly string[] {
  return runtime.offered().find((action) => action.tool === tool)?.facts.scopes ?? [];
}

function noteDecision(
  { runtime, by }: Pick<RouteRequest, "runtime" | "by">,
  { id, runId: run, state, decision, callId }: CandidateRecord,
): Promise<void> {
  const data = { candidate_id: id, run_id: run, call_id: callId, ...(decision?.reason && { reason: decision.reason }) };
  return runtime.note(`operator.memory_${state}`, `The memory candidate \`${id}\` was ${state}.`, {
    ...actorOf(by),
    data,
  });
}

async function runOf(
  service: CandidateService,
  request: Pick<RouteRequest, "runtime" | "by">,
  id: string,
): Promise<string | undefined> {
  for await (const record of candidatesOf(service, request)) if (record.id === id) return record.runId;
  return undefined;
}

/** Of one run, or of every run whose agents wrote memories: the ledger knows which. The newest first. */
export async function* candidatesOf(
  service: CandidateService,
  { runtime, by }: Pick<RouteRequest, "runtime" | "by">,
  { run, mostRuns = Number.POSITIVE_INFINITY }: { readonly run?: string | undefined; readonly mostRuns?: number } = {},
): AsyncGenerator<CandidateRecord> {
  const { tenant } = by.principal;
  if (run !== undefined) return yield* (await service.list(tenant, run)).toReversed();
  const seen = new Set<string>();
  const where = { tool: "write_memory", tenant, limit: 1_000 };
  for (let before: string | undefined; ; ) {
    const page = await runtime.calls.list({ ...where, ...defined({ before }) });
    for (const { call } of page) {
      if (seen.has(call.authority.runId)) continue;
      if (seen.size === mostRuns) return;
      seen.add(call.authority.runId);
      yield* (await service.list(tenant, call.authority.runId)).toReversed();
    }
    before = page.at(-1)?.call.id;
    if (page.length < where.limit) return;
  }
}

function memoryOff(): Response {
  return problem("memory_off", "Memory is off; set `memory.enabled` in the configuration.");
}
