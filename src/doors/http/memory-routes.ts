import { z } from "@hono/zod-openapi";
import type { Runtime } from "../../face.ts";
import type {
  CandidateDecided,
  CandidateDesk,
  CandidateName,
  CandidateRecord,
  CandidateRuling,
  CandidateState,
} from "../../tools/builtin/memory/candidate-desk.ts";
import { candidateToWire } from "../wire-memory.ts";
import { candidateAnswer, candidatesAnswer } from "./answer-schemas.ts";
import { answer, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { limit, type ReasonFields, reason, runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";

interface CandidateQuery {
  readonly run_id?: string | undefined;
  readonly state?: CandidateState | undefined;
  readonly limit?: number | undefined;
}

const candidateQuery: z.ZodType<CandidateQuery> = z.strictObject({
  run_id: runId.optional(),
  state: z.enum(["open", "accepted", "rejected", "waiting", "unknown"]).optional(),
  limit: limit.optional(),
});

interface RejectFields extends ReasonFields {
  readonly run_id?: string | undefined;
}

interface AcceptFields extends RejectFields {
  readonly again?: boolean | undefined;
}

const named = { run_id: runId.optional(), reason: reason.optional() };
const rejectFields: z.ZodType<RejectFields> = z.strictObject(named);
const acceptFields: z.ZodType<AcceptFields> = z.strictObject({ ...named, again: z.boolean().optional() });

/** What agents proposed to remember: a person's word on it (SPEC 15.3). */
export const memoryRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/memory/candidates",
    needs: "memory:decide",
    summary: "What agents proposed to remember: one run's, or the latest runs', new to old.",
    body: nothing,
    query: candidateQuery,
    answers: candidatesAnswer,
    run: async (asked) => {
      const { memory, query } = asked;
      if (memory === undefined) return memoryOff();
      const found: CandidateRecord[] = [];
      for await (const record of candidates(memory, asked, query.run_id)) {
        if (query.state === undefined || query.state === record.state) found.push(record);
        if (found.length === (query.limit ?? 100)) break;
      }
      return answer({ candidates: found.map(candidateToWire) });
    },
  }),
  route({
    method: "post",
    path: "/v1/memory/candidates/{id}/accept",
    needs: "memory:decide",
    summary: "Write it to the memory provider, once.",
    body: acceptFields,
    query: nothing,
    answers: candidateAnswer,
    run: (asked) =>
      decide(asked, async (desk, name) => desk.accept(name, { ...rulingOf(asked), again: asked.body.again === true })),
  }),
  route({
    method: "post",
    path: "/v1/memory/candidates/{id}/reject",
    needs: "memory:decide",
    summary: "It is not remembered.",
    body: rejectFields,
    query: nothing,
    answers: candidateAnswer,
    run: (asked) => decide(asked, (desk, name) => desk.reject(name, rulingOf(asked))),
  }),
];

async function decide<Fields extends RejectFields>(
  asked: Asked<Fields, unknown>,
  rule: (desk: CandidateDesk, name: CandidateName) => Promise<CandidateDecided>,
): Promise<Response> {
  const { memory: desk, by, body, part } = asked;
  if (desk === undefined) return memoryOff();
  const { tenant } = by.principal;
  const run = body.run_id ?? (await runOf(desk, asked, part("id")));
  if (run === undefined) return problem("candidate_unknown", `There is no memory candidate \`${part("id")}\`.`);
  const decided = await rule(desk, { tenant, runId: run, id: part("id") });
  if (decided.decided) await noted(asked, decided.candidate);
  if (decided.decided) return answer(candidateToWire(decided.candidate));
  const { code, message, candidate } = decided;
  if (code === "candidate_waiting" && candidate !== undefined) return answer(candidateToWire(candidate), 202);
  const beside = candidate && { beside: { candidate: candidateToWire(candidate) } };
  return problem(code === "candidate_waiting" ? "candidate_unclear" : code, message, beside);
}

/**
 * What the provider calls on an acceptance, it calls on the person's behalf, in a run of the person's and through the
 * gates. It is a credential of its own: when such a call is asked about, the person who accepted may answer, after having
 * seen what it is.
 */
function rulingOf({ runtime, by, body, signal }: Asked<RejectFields, unknown>): CandidateRuling {
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

function noted(
  { runtime, by }: Asked<unknown, unknown>,
  { id, runId: run, state, decision, callId }: CandidateRecord,
): Promise<void> {
  const data = { candidate_id: id, run_id: run, call_id: callId, ...(decision?.reason && { reason: decision.reason }) };
  return runtime.note(`operator.memory_${state}`, `The memory candidate \`${id}\` was ${state}.`, {
    ...actorOf(by),
    data,
  });
}

async function runOf(desk: CandidateDesk, asked: Asked<unknown, unknown>, id: string): Promise<string | undefined> {
  for await (const record of candidates(desk, asked, undefined)) if (record.id === id) return record.runId;
  return undefined;
}

/** Of one run, or of every run whose agents wrote memories: the ledger knows which. The newest first. */
async function* candidates(
  desk: CandidateDesk,
  { runtime, by }: Asked<unknown, unknown>,
  run: string | undefined,
): AsyncGenerator<CandidateRecord> {
  const { tenant } = by.principal;
  if (run !== undefined) return yield* (await desk.list(tenant, run)).toReversed();
  const seen = new Set<string>();
  const where = { tool: "write_memory", tenant, limit: 1_000 };
  for (let before: string | undefined; ; ) {
    const page = await runtime.calls.list({ ...where, ...(before !== undefined && { before }) });
    for (const { call } of page) {
      if (seen.has(call.authority.runId)) continue;
      seen.add(call.authority.runId);
      yield* (await desk.list(tenant, call.authority.runId)).toReversed();
    }
    before = page.at(-1)?.call.id;
    if (page.length < where.limit) return;
  }
}

function memoryOff(): Response {
  return problem("memory_off", "Memory is off; set `memory.enabled` in the configuration.");
}
