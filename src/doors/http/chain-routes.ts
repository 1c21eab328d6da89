import { z } from "@hono/zod-openapi";
import { type ChainsWire, chainToWire, engineToWire } from "../wire-chains.ts";
import { text } from "./answer-fields.ts";
import { outcomeAnswer } from "./answer-schemas.ts";
import { answer, answerOutcome, problem } from "./answers.ts";
import { limit, runId } from "./fields.ts";
import { nothing, type Route, route } from "./route.ts";
import { sees, visibleCall } from "./visible.ts";

interface ChainQuery {
  readonly run_id?: string | undefined;
  readonly limit?: number | undefined;
}

const chainQuery: z.ZodType<ChainQuery> = z.strictObject({ run_id: runId.optional(), limit: limit.optional() });

const chainsAnswer: z.ZodType<ChainsWire> = z.object({
  chains: z.array(
    z.object({
      call_id: text,
      state: z.enum(["running", "waiting"]),
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
    summary: "Scripts that run now or wait for a person, new to old, and the engines there are. An agent sees its own.",
    body: nothing,
    query: chainQuery,
    answers: chainsAnswer,
    run: async ({ runtime, by, query }) => {
      const { chains } = runtime;
      if (chains === undefined) return answer({ chains: [], engines: [] });
      const { tenant } = by.principal;
      const listed = await chains.list({
        tenant,
        limit: query.limit ?? 100,
        ...(query.run_id !== undefined && { runId: query.run_id }),
      });
      const own = listed.filter(({ principal }) => sees(by, principal));
      return answer({ chains: own.map(chainToWire), engines: (await chains.engines()).map(engineToWire) });
    },
  }),
  route({
    method: "post",
    path: "/v1/chains/{id}/resume",
    needs: "calls:make",
    summary: "Let a script that waits go on; 202 while its person has not decided.",
    body: nothing,
    query: nothing,
    answers: outcomeAnswer,
    run: async ({ runtime, by, part, signal }) => {
      const record = await visibleCall(runtime, by, part("id"));
      const outcome = record && (await runtime.chains?.resume(record.call.id, { signal }));
      if (outcome !== undefined) return answerOutcome(outcome);
      return problem(
        "call_unknown",
        `No script \`${part("id")}\` waits; \`postern calls show ${part("id")}\` says what became of it.`,
      );
    },
  }),
];
