import { z } from "@hono/zod-openapi";
import { numberOf } from "../../calls/ids.ts";
import type { ApprovalRecord, CallRecord } from "../../calls/records.ts";
import type { Runtime } from "../../face.ts";
import type { ToolRecord } from "../../watchers/archive/runs.ts";
import type { Who } from "../credentials.ts";
import { linesIn, refusedToTimeline, type TimelineWire, timelineToWire } from "../wire-timeline.ts";
import { answer, problem } from "./answers.ts";
import { limit, position, runId } from "./fields.ts";
import { nothing, type Route, route } from "./route.ts";
import { timelineAnswer } from "./screen-schemas.ts";
import { sees, visibleCalls } from "./visible.ts";

interface TimelineQuery {
  readonly before?: number | undefined;
  readonly limit?: number | undefined;
}

const timelineQuery: z.ZodType<TimelineQuery> = z.strictObject({
  before: position.optional(),
  limit: limit.optional(),
});

/** What happened in a run, as a picture needs it. */
export const timelineRoutes: readonly Route[] = [
  route({
    method: "get",
    needs: "runs:read",
    path: "/v1/runs/{id}/timeline",
    summary:
      "Calls of a run, new to old: when each arrived, was asked about, decided, started and ended. An agent sees its own.",
    body: nothing,
    query: timelineQuery,
    answers: timelineAnswer,
    run: async ({ runtime, by, part, query }) => {
      const id = part("id");
      if (!runId.safeParse(id).success) return problem("run_unknown", `There is no run \`${id.slice(0, 100)}\`.`);
      const most = query.limit ?? 200;
      const where = { runId: id, ...(query.before !== undefined && { before: query.before }) };
      const records = await visibleCalls(runtime, by, where, most);
      const next = records.length === most ? records.at(-1)?.call.number : undefined;
      const lines = linesIn(records);
      const turnedAway = await refusedIn(runtime, by, id, records);
      const calls = [
        ...(await Promise.all(
          records.map(async (record) =>
            timelineToWire(record, await asked(runtime, record), lines.get(record.call.id)),
          ),
        )),
        ...turnedAway.filter(({ number }) => number < (query.before ?? Infinity) && number > (next ?? -1)),
      ].sort((one, other) => other.number - one.number);
      return answer({ run_id: id, calls, next_before: next });
    },
  }),
];

async function asked(runtime: Runtime, { approvalId }: CallRecord): Promise<ApprovalRecord | undefined> {
  return approvalId === undefined ? undefined : runtime.approvals.get(approvalId);
}

/** Arrivals that ended before they were recorded as calls: only the run's folder has them, where one is kept. */
async function refusedIn(
  { runs }: Runtime,
  by: Who,
  id: string,
  recorded: readonly CallRecord[],
): Promise<readonly TimelineWire[]> {
  const run = { runId: id, tenant: by.principal.tenant };
  const summary = await runs?.get(run);
  if (summary === undefined || !sees(by, { tenant: summary.tenant, agent: "", ...summary.principal })) return [];
  const known = new Set(recorded.map(({ call }) => call.id));
  const lines: readonly ToolRecord[] = (await runs?.calls(run, 1000)) ?? [];
  return lines.flatMap((line) => {
    const number = numberOf(line.call_id);
    const isOnlyThere = line.status === "blocked" && line.started_at === undefined && !known.has(line.call_id);
    return number !== undefined && isOnlyThere ? [refusedToTimeline(line, number)] : [];
  });
}
