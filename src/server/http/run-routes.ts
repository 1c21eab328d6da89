import type { Actor } from "../../core/actor.ts";
import type { AgentRunId } from "../../core/agent-runs.ts";
import type { RunName, RunSummary, Runs } from "../../observe/runs/runs.ts";
import { runId } from "../contract/fields.ts";
import { agentRuns, runs } from "../contract/runs.ts";
import type { Who } from "../credentials.ts";
import { answered, problem } from "./answers.ts";
import { actorOf, askerOf, sees, visibleRun } from "./caller.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";
import { timelineOf } from "./timeline.ts";

export const runRoutes: readonly Route[] = serve(runs, {
  list: async ({ runtime, by, query }) => {
    if (runtime.runs === undefined) return runsOff();
    const { tenant } = by.principal;
    const found = await runtime.runs.page({ tenant, limit: 50, ...query, ...askerOf(by) });
    return found;
  },
  show: (request) => withRun(request, async (_runs, _name, summary) => summary),
  events: (request) =>
    withRun(request, async (kept, name) => {
      const { limit = 200, ...where } = request.query;
      const events = (await kept.events(name, { limit, ...where })) ?? [];
      return { events, nextAfter: events.length === limit ? events.at(-1)?.sequence : undefined };
    }),
  timeline: async (request) => {
    const id = request.part("id");
    return (runId.safeParse(id).success ? await timelineOf(request, id) : undefined) ?? unknownRun(id);
  },
  verify: (request) => withRun(request, async (kept, name) => (await kept.verify(name)) ?? unknownRun(name.runId)),
  export: (request) =>
    withRun(request, async (kept, name) => {
      const bytes = await kept.export(name);
      if (bytes === undefined) return unknownRun(name.runId);
      return new Response(ReadableStream.from(bytes), {
        headers: {
          "content-type": "application/x-tar",
          "content-disposition": `attachment; filename="${name.runId}.tar"`,
        },
      });
    }),
  begin: (request) => {
    const who = request.by.kind === "person" ? byHand(request.by) : { principal: request.by.principal };
    return change(request, true, (kept, name) => kept.begin(name, { ...request.body, ...who }));
  },
  describe: (request) =>
    change(request, false, (kept, name) => kept.describe(name, { ...request.body, ...byHand(request.by) })),
  finish: (request) =>
    change(request, false, (kept, name) => kept.finish(name, { ...request.body, ...byHand(request.by) })),
});

function byHand(by: Who): { readonly by?: Actor } {
  return by.kind === "person" ? { by: actorOf(by) } : {};
}

type OfRun = Pick<RouteRequest, "runtime" | "by" | "part">;

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

/** @param mayBeNew whether the run may be one that does not exist yet */
async function change(
  { runtime, by, part }: OfRun,
  mayBeNew: boolean,
  make: (runs: Runs, name: RunName) => Promise<RunSummary>,
): Promise<RunSummary | Response> {
  if (runtime.runs === undefined) return runsOff();
  const kept = runtime.runs;
  const name = { runId: part("id"), tenant: by.principal.tenant };
  if (!runId.safeParse(name.runId).success) return unknownRun(name.runId);
  const found = await kept.get(name);
  const isVisible = found !== undefined && sees(by, { tenant: found.tenant, agent: "", ...found.principal });
  if (found === undefined ? !mayBeNew : !isVisible) return unknownRun(name.runId);
  return answered(
    () => make(kept, name),
    (code) => (code === "run_foreign" || code === "run_invalid" ? code : undefined),
  );
}

export const agentRunRoutes: readonly Route[] = serve(agentRuns, {
  list: async ({ runtime, by, query }) => {
    const ids = await runtime.agentRuns.list(by.principal);
    return { runIds: ids.slice(-(query.limit ?? 100)).toReversed() };
  },
  show: async ({ runtime, by, part }) => {
    const run = runOf(by, part("id"));
    const found = run && (await runtime.agentRuns.load(run));
    if (run === undefined || found === undefined) return unknownRun(part("id"));
    const { tenant, agent } = by.principal;
    const instructions = runtime.skills?.instructions({ tenant, agent, runId: run.runId }) ?? "";
    return { runId: run.runId, ...found, instructions };
  },
  save: async ({ runtime, by, part, body }) => {
    const run = runOf(by, part("id"));
    if (run === undefined) return unknownRun(part("id"));
    const { state, expectedVersion: expected } = body;
    if (await runtime.agentRuns.save(run, state, expected)) return { runId: run.runId, version: expected + 1 };
    return problem(
      "run_contended",
      `The run \`${run.runId}\` is not at version ${expected}: another process goes on with it. Read it again.`,
    );
  },
});

function runOf({ principal }: Who, id: string): AgentRunId | undefined {
  return runId.safeParse(id).success ? { principal, runId: id } : undefined;
}

function unknownRun(id: string): Response {
  return problem("run_unknown", `There is no run \`${id.slice(0, 100)}\`.`);
}

function runsOff(): Response {
  return problem("runs_off", "No folders of runs are kept here; set `runs.enabled` in the configuration.");
}
