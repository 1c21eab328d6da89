import { z } from "@hono/zod-openapi";
import type { RunSummary, Runs } from "../../watchers/archive/runs.ts";
import type { Who } from "../credentials.ts";
import { answer, problem } from "./answers.ts";
import { cursor, limit, name, position, runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";
import { runAnswer, runEventsAnswer, runsAnswer, runVerificationAnswer } from "./run-schemas.ts";
import { askerOf, visibleRun } from "./visible.ts";

interface ListQuery {
  readonly agent?: string | undefined;
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}
interface EventsQuery {
  readonly after?: number | undefined;
  readonly type?: string | undefined;
  readonly limit?: number | undefined;
}

const listQuery: z.ZodType<ListQuery> = z.strictObject({
  agent: name.optional(),
  limit: limit.optional(),
  after: cursor("live", "kept").optional(),
});
const eventsQuery: z.ZodType<EventsQuery> = z.strictObject({
  after: position.optional(),
  type: name.optional(),
  limit: limit.optional(),
});

/** Runs are read (an agent: its own), verified and taken away; run-change-routes.ts begins and finishes them. */
export const runRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/runs",
    needs: "runs:read",
    summary: "Runs that this token may know of, the latest first.",
    body: nothing,
    query: listQuery,
    answers: runsAnswer,
    run: async ({ runtime: { runs }, by, query }) => {
      if (runs === undefined) return runsOff();
      const { tenant } = by.principal;
      const { agent, limit: most = 50, after } = query;
      const { runs: found, nextAfter } = await runs.page({
        tenant,
        limit: most,
        ...(agent !== undefined && { agent }),
        ...(after !== undefined && { after }),
        ...askerOf(by),
      });
      return answer({ runs: found, next_after: nextAfter });
    },
  }),
  route({
    method: "get",
    path: "/v1/runs/{id}",
    needs: "runs:read",
    summary: "One run: its state, counts, deliverables, and what it may be called.",
    body: nothing,
    query: nothing,
    answers: runAnswer,
    run: (asked) => withRun(asked, async (_runs, summary) => answer(summary)),
  }),
  route({
    method: "get",
    path: "/v1/runs/{id}/events",
    needs: "runs:read",
    summary: "Its events after a sequence number, in order. `type` may end in `.` to mean all that begin so.",
    body: nothing,
    query: eventsQuery,
    answers: runEventsAnswer,
    run: (asked) =>
      withRun(asked, async (runs, { run_id, tenant }) => {
        const { after, type, limit: most = 200 } = asked.query;
        const where = { limit: most, ...(after !== undefined && { after }), ...(type !== undefined && { type }) };
        const events = (await runs.events({ runId: run_id, tenant }, where)) ?? [];
        return answer({ events, next_after: events.length === most ? events.at(-1)?.sequence : undefined });
      }),
  }),
  route({
    method: "get",
    path: "/v1/runs/{id}/verify",
    needs: "runs:export",
    summary: "Hold the run's folder against the audit log: edits, cuts, changes of order and missing lines are named.",
    body: nothing,
    query: nothing,
    answers: runVerificationAnswer,
    run: (asked) =>
      withRun(asked, async (runs, { run_id, tenant }) => {
        const found = await runs.verify({ runId: run_id, tenant });
        return found === undefined ? unknownRun(run_id) : answer(found);
      }),
  }),
  route({
    method: "get",
    path: "/v1/runs/{id}/export",
    needs: "runs:export",
    summary: "The run's folder as a tar archive.",
    body: nothing,
    query: nothing,
    answers: "application/x-tar",
    run: (asked) =>
      withRun(asked, async (runs, { run_id, tenant }) => {
        const bytes = await runs.export({ runId: run_id, tenant });
        if (bytes === undefined) return unknownRun(run_id);
        return new Response(ReadableStream.from(bytes), {
          headers: {
            "content-type": "application/x-tar",
            "content-disposition": `attachment; filename="${run_id}.tar"`,
          },
        });
      }),
  }),
];

/** The run, when there is one and this token may know of it: both are the same answer to who may not. */
export async function withRun<Query, By extends Who>(
  { runtime, by, part }: Asked<unknown, Query, By>,
  then: (runs: Runs, summary: RunSummary) => Promise<Response>,
): Promise<Response> {
  const { runs } = runtime;
  if (runs === undefined) return runsOff();
  const id = part("id");
  const summary = runId.safeParse(id).success ? await visibleRun(runtime, by, id) : undefined;
  return summary === undefined ? unknownRun(id) : then(runs, summary);
}

export function unknownRun(id: string): Response {
  return problem("run_unknown", `There is no run \`${id.slice(0, 100)}\`.`);
}

export function runsOff(): Response {
  return problem("runs_off", "No folders of runs are kept here; set `runs.enabled` in the configuration.");
}
