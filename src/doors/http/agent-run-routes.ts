import { z } from "@hono/zod-openapi";
import type { AgentRunId } from "../../calls/agent-runs.ts";
import type { Json } from "../../calls/json.ts";
import type { Who } from "../credentials.ts";
import { text } from "./answer-fields.ts";
import { answer, problem } from "./answers.ts";
import { limit, runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";
import { unknownRun } from "./run-routes.ts";

export interface AgentRunWire {
  readonly run_id: string;
  readonly version: number;
  /** What the loop keeps: the conversation, and how it goes on. */
  readonly state: Json;
  /** What the run's skills add to the system prompt now. */
  readonly instructions: string;
}

interface SaveFields {
  readonly state: Json;
  readonly expected_version: number;
}

const json: z.ZodType<Json> = z.custom<Json>((value) => value !== undefined, "is missing").openapi({ type: "object" });
const saveFields: z.ZodType<SaveFields> = z.strictObject({
  state: json,
  expected_version: z.number().int().min(0),
});
const agentRunAnswer = z
  .object({ run_id: text, version: z.number(), state: json, instructions: text })
  .openapi("AgentRun");

/** Conversations of agents whose loop runs in another process. Each caller has its own, and sees no other. */
export const agentRunRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/agent-runs",
    needs: "calls:make",
    summary: "Ids of the caller's own agent runs, from the last to the first in the order of their characters.",
    body: nothing,
    query: z.strictObject({ limit: limit.optional() }),
    answers: z.object({ run_ids: z.array(text) }),
    run: async ({ runtime, by, query }) => {
      const ids = await runtime.agentRuns.list(by.principal);
      return answer({ run_ids: ids.slice(-(query.limit ?? 100)).toReversed() });
    },
  }),
  route({
    method: "get",
    path: "/v1/agent-runs/{id}",
    needs: "calls:make",
    summary: "One of the caller's own agent runs: what was kept last, and what its skills add to the system prompt.",
    body: nothing,
    query: nothing,
    answers: agentRunAnswer,
    run: async ({ runtime, by, part }) => {
      const run = runOf(by, part("id"));
      const found = run && (await runtime.agentRuns.load(run));
      if (run === undefined || found === undefined) return unknownRun(part("id"));
      const { tenant, agent } = by.principal;
      const instructions = runtime.skills?.instructions({ tenant, agent, runId: run.runId }) ?? "";
      return answer({ run_id: run.runId, ...found, instructions });
    },
  }),
  route({
    method: "put",
    path: "/v1/agent-runs/{id}",
    needs: "calls:make",
    summary: "Keep the state of an agent run in the place of version `expected_version` (0: there is none yet).",
    body: saveFields,
    query: nothing,
    answers: z.object({ run_id: text, version: z.number() }),
    run: save,
  }),
];

async function save({ runtime, by, part, body }: Asked<SaveFields, unknown>): Promise<Response> {
  const run = runOf(by, part("id"));
  if (run === undefined) return unknownRun(part("id"));
  const { state, expected_version: expected } = body;
  if (await runtime.agentRuns.save(run, state, expected)) return answer({ run_id: run.runId, version: expected + 1 });
  return problem(
    "run_contended",
    `The run \`${run.runId}\` is not at version ${expected}: another process goes on with it. Read it again.`,
  );
}

function runOf({ principal }: Who, id: string): AgentRunId | undefined {
  return runId.safeParse(id).success ? { principal, runId: id } : undefined;
}
