import { type Actor, type AgentRunId, defined, type Json } from "@postern/core";
import { agentRuns, type BodyOf, runId, runs } from "@postern/core/contract";
import type { RunAbout, RunName, RunSummary, Runs } from "../../observe/runs/runs.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { Who } from "../credentials.ts";
import { answered, problem } from "./answers.ts";
import { spendOne } from "./budget.ts";
import { actorOf, askerOf, sees, visibleRun } from "./caller.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";
import { timelineOf } from "./timeline.ts";

export const runRoutes: readonly Route[] = serve(runs, {
  list: async ({ runtime, by, query }) => {
    if (runtime.runs === undefined) return runsOff();
    const { tenant } = by.principal;
    const { runs: found, nextAfter } = await runtime.runs.page({ tenant, limit: 50, ...query, ...askerOf(by) });
    return { runs: found, next_after: nextAfter };
  },
  show: (request) => withRun(request, async (_runs, _name, summary) => summary),
  events: (request) =>
    withRun(request, async (kept, name) => {
      const { limit = 200, ...where } = request.query;
      const events = (await kept.events(name, { limit, ...where })) ?? [];
      return { events, next_after: events.length === limit ? events.at(-1)?.sequence : undefined };
    }),
  timeline: async (request) => {
    const id = request.part("id");
    return (runId.safeParse(id).success ? await timelineOf(request, id) : undefined) ?? unknownRun(id);
  },
  begin: (request) => {
    const who = request.by.kind === "person" ? byHand(request.by) : { principal: request.by.principal };
    return change(request, "begun", (kept, name) => kept.begin(name, { ...aboutOf(request.body), ...who }));
  },
  describe: (request) =>
    change(request, "described", (kept, name) =>
      kept.describe(name, { ...aboutOf(request.body), ...byHand(request.by) }),
    ),
  finish: (request) =>
    change(request, "finished", (kept, name) => kept.finish(name, { ...request.body, ...byHand(request.by) })),
});

function aboutOf({ task_id: taskId, system_prompt: systemPrompt, ...body }: BodyOf<typeof runs.begin>): RunAbout {
  return { ...body, ...defined({ taskId, systemPrompt }) };
}

function byHand(by: Who): { readonly by?: Actor } {
  return by.kind === "person" ? { by: actorOf(by) } : {};
}

type OfRun = Pick<RouteRequest, "runtime" | "by" | "part">;
type ChangeOfRun = OfRun & Pick<RouteRequest, "windows">;

/** A run that the caller may not know of is answered as one that does not exist. */
async function withRun<Found>(
  { runtime, by, part }: OfRun,
  then: (runs: Runs, name: RunName, summary: RunSummary) => Promise<Found>,
): Promise<Found | Response> {
  if (runtime.runs === undefined) return runsOff();
  const id = part("id");
  const summary = runId.safeParse(id).success ? await visibleRun(runtime, by, id) : undefined;
  if (summary === undefined) return unknownRun(id);
  return then(runtime.runs, { runId: id, tenant: summary.tenant }, summary);
}

/** Only a run that is begun may be one that does not exist yet. What an agent changes is counted and has its event. */
async function change(
  request: ChangeOfRun,
  as: "begun" | "described" | "finished",
  make: (runs: Runs, name: RunName) => Promise<RunSummary>,
): Promise<RunSummary | Response> {
  const { runtime, by, part } = request;
  if (runtime.runs === undefined) return runsOff();
  const kept = runtime.runs;
  const name = { runId: part("id"), tenant: by.principal.tenant };
  if (!runId.safeParse(name.runId).success) return unknownRun(name.runId);
  const found = await kept.get(name);
  const isVisible = found !== undefined && sees(by, { tenant: found.tenant, agent: "", ...found.principal });
  if (found === undefined ? as !== "begun" : !isVisible) return unknownRun(name.runId);
  const refused = await spendOne(request);
  if (refused !== undefined) return refused;
  return answered(
    async () => {
      const changed = await make(kept, name);
      const { principal } = by;
      const data = { run: name.runId }; // not `run_id`: the folder has lines of its own for it
      const summary = `${principal.agent} has ${as} the run ${name.runId}`;
      if (by.kind === "agent") await runtime.note(`agent.run_${as}`, summary, { principal, data });
      return changed;
    },
    (code) => (code === "run_foreign" || code === "request_invalid" ? code : undefined),
  );
}

/** Of one agent (and user). Older ones end by age, or the agent deletes them. */
const mostAgentRuns = 1_000;
const mostStateBytes = 1_000_000;

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
  save: async (request) => {
    const { runtime, by, part, body } = request;
    const run = runOf(by, part("id"));
    if (run === undefined) return unknownRun(part("id"));
    const { state, expected_version: expected } = body;
    const refused = stateTooLarge(state) ?? (await spendOne(request)) ?? (await tooManyRuns(runtime, run, expected));
    if (refused !== undefined) return refused;
    if (await runtime.agentRuns.save(run, state, expected)) return { run_id: run.runId, version: expected + 1 };
    return problem(
      "run_contended",
      `The run \`${run.runId}\` is not at version ${expected}: another process goes on with it. Read it again.`,
    );
  },
  remove: async (request) => {
    const run = runOf(request.by, request.part("id"));
    const refused = await spendOne(request);
    if (refused !== undefined) return refused;
    const isRemoved = run !== undefined && (await request.runtime.agentRuns.remove(run));
    return isRemoved ? new Response(null, { status: 204 }) : unknownRun(request.part("id"));
  },
});

function stateTooLarge(state: Json): Response | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(state));
  if (bytes <= mostStateBytes) return undefined;
  return problem(
    "body_too_large",
    `The state is ${bytes} bytes; an agent run keeps at most ${mostStateBytes}. Keep large data as an artifact and name it.`,
  );
}

async function tooManyRuns(
  { agentRuns: stored }: Runtime,
  { principal, runId: id }: AgentRunId,
  expected: number,
): Promise<Response | undefined> {
  if (expected > 0 || (await stored.list(principal)).length < mostAgentRuns) return undefined;
  return problem(
    "overloaded",
    `${principal.agent} keeps ${mostAgentRuns} agent runs, the most there may be, so \`${id}\` was not kept. Delete some (\`DELETE /v1/agent-runs/ID\`).`,
  );
}

function runOf({ principal }: Who, id: string): AgentRunId | undefined {
  return runId.safeParse(id).success ? { principal, runId: id } : undefined;
}

function unknownRun(id: string): Response {
  return problem("run_unknown", `There is no run \`${id.slice(0, 100)}\`.`);
}

function runsOff(): Response {
  return problem("runs_off", "No folders of runs are kept here; set `runs.enabled` in the configuration.");
}
