import { z } from "@hono/zod-openapi";
import { given } from "../../calls/given.ts";
import type { CallRecord } from "../../calls/records.ts";
import type { Runtime } from "../../face.ts";
import type { Who } from "../credentials.ts";
import { type ChainsWire, chainToWire, engineToWire } from "../wire-chains.ts";
import { text } from "./answer-fields.ts";
import { outcomeAnswer } from "./answer-schemas.ts";
import { answer, answerOutcome, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { callId, limit, runId } from "./fields.ts";
import { nothing, type Route, route } from "./old-route.ts";
import { askerOf, visibleCall } from "./visible.ts";

interface ChainQuery {
  readonly run_id?: string | undefined;
  readonly before?: string | undefined;
  readonly limit?: number | undefined;
}

const chainQuery: z.ZodType<ChainQuery> = z.strictObject({
  run_id: runId.optional(),
  before: callId.optional(),
  limit: limit.optional(),
});

const chainsAnswer: z.ZodType<ChainsWire> = z.object({
  chains: z.array(
    z.object({
      call_id: text,
      state: z.enum(["running", "waiting", "interrupted"]),
      advice: text.optional(),
      requested_by: z.object({
        tenant: text,
        agent: text,
        user: text.optional(),
        via: text.optional(),
      }),
      run_id: text,
      language: text.optional(),
      source: text,
      engine: text.optional(),
      image_bytes: z.number().optional(),
      since: text,
      waiting: z.array(z.object({ tool: text, approval_id: text, line: z.number().optional() })),
      expires_at: text.optional(),
    }),
  ),
  next_before: text.optional(),
  engines: z.array(
    z.object({
      name: text,
      language: z.enum(["javascript", "python"]).optional(),
      problem: text.optional(),
      down: z.literal(true).optional(),
    }),
  ),
});

/** A script is run as any tool is (`POST /v1/calls`, `tool_chain`); here is what runs and what waits. */
export const chainRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/chains",
    needs: "calls:read",
    summary:
      "Scripts that run now, wait for a person or were cut short and can go on, new to old, and the engines there are. An agent sees its own.",
    body: nothing,
    query: chainQuery,
    answers: chainsAnswer,
    run: async ({ runtime, by, query }) => {
      const { chains } = runtime;
      if (chains === undefined) return answer({ chains: [], engines: [] });
      const { tenant } = by.principal;
      const { limit: most = 100, run_id, before } = query;
      const listed = await chains.list({ tenant, limit: most, ...askerOf(by), ...given({ runId: run_id, before }) });
      return answer({
        chains: listed.map(chainToWire),
        next_before: listed.length === most ? listed.at(-1)?.callId : undefined,
        engines: (await chains.engines()).map(engineToWire),
      });
    },
  }),
  route({
    method: "post",
    path: "/v1/chains/{id}/resume",
    needs: "calls:make",
    summary: "Let a script go on that waits or was cut short; 202 while its person has not decided.",
    body: nothing,
    query: nothing,
    answers: outcomeAnswer,
    run: async ({ runtime, by, part, signal }) => {
      const record = await visibleCall(runtime, by, part("id"));
      if (record !== undefined) await noteGoingOn(runtime, by, record);
      const outcome = record && (await runtime.chains?.resume(record.call.id, { ...askerOf(by), signal }));
      if (outcome !== undefined) return answerOutcome(outcome, record?.call.tool ?? "");
      return problem(
        "call_unknown",
        `No script \`${part("id")}\` waits; \`postern calls show ${part("id")}\` says what became of it.`,
      );
    },
  }),
];

/** A person who lets a script go on does it by hand; an agent lets its own go on, and one that still waits goes nowhere. */
async function noteGoingOn(runtime: Runtime, by: Who, { state, call }: CallRecord): Promise<void> {
  if (by.kind !== "person" || (state !== "suspended" && state !== "unknown")) return;
  const { principal, runId } = call.authority;
  const scripts = (await runtime.chains?.list({ runId, limit: 1000 })) ?? [];
  const waiting = scripts.find(({ callId }) => callId === call.id)?.waiting ?? [];
  const asked = await Promise.all(waiting.map(({ approvalId }) => runtime.approvals.get(approvalId)));
  if (asked.length > 0 && asked.every((approval) => approval?.state === "pending")) return;
  await runtime.note("operator.action.call_resumed", `The script of ${principal.agent} is let go on`, {
    ...actorOf(by),
    data: { call_id: call.id, tool: call.tool, run: runId },
  });
}
