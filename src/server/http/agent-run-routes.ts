import type { AgentRunId } from "../../core/agent-runs.ts";
import { agentRuns } from "../contract/agent-runs.ts";
import { runId } from "../contract/fields.ts";
import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";
import { type Route, serve } from "./route.ts";
import { unknownRun } from "./run-routes.ts";

export const agentRunRoutes: readonly Route[] = serve(agentRuns, {
  list: async ({ runtime, by, query }) => {
    const ids = await runtime.agentRuns.list(by.principal);
    return { run_ids: ids.slice(-(query.limit ?? 100)).toReversed() };
  },
  show: async ({ runtime, by, part }) => {
    const run = runOf(by, part("id"));
    const found = run && (await runtime.agentRuns.load(run));
    if (run === undefined || found === undefined) return unknownRun(part("id"));
    const { tenant, agent } = by.principal;
    const instructions = runtime.skills?.instructions({ tenant, agent, runId: run.runId }) ?? "";
    return { run_id: run.runId, ...found, instructions };
  },
  save: async ({ runtime, by, part, body }) => {
    const run = runOf(by, part("id"));
    if (run === undefined) return unknownRun(part("id"));
    const { state, expected_version: expected } = body;
    if (await runtime.agentRuns.save(run, state, expected)) return { run_id: run.runId, version: expected + 1 };
    return problem(
      "run_contended",
      `The run \`${run.runId}\` is not at version ${expected}: another process goes on with it. Read it again.`,
    );
  },
});

function runOf({ principal }: Who, id: string): AgentRunId | undefined {
  return runId.safeParse(id).success ? { principal, runId: id } : undefined;
}
