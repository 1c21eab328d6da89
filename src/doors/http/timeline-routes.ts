import { z } from "@hono/zod-openapi";
import type { ApprovalRecord, CallRecord } from "../../calls/records.ts";
import type { Runtime } from "../../face.ts";
import type { RunSummary, ToolRecord } from "../../watchers/archive/runs.ts";
import type { Who } from "../credentials.ts";
import { linesIn, refusedToTimeline, type TimelineWire, timelineToWire } from "../wire-timeline.ts";
import { answer } from "./answers.ts";
import { callId, limit, runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";
import { unknownRun } from "./run-routes.ts";
import { timelineAnswer } from "./screen-schemas.ts";
import { askerOf, visibleCall, visibleCalls, visibleRun } from "./visible.ts";

interface TimelineQuery {
  readonly before?: string | undefined;
  readonly limit?: number | undefined;
}

const timelineQuery: z.ZodType<TimelineQuery> = z.strictObject({
  before: callId.optional(),
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
    run: (asked) => timeline(asked),
  }),
];

/** A run that this token may know nothing of is no run, as everywhere. */
async function timeline({ runtime, by, part, query }: Asked<unknown, TimelineQuery>): Promise<Response> {
  const id = part("id");
  if (!runId.safeParse(id).success) return unknownRun(id);
  const { before, limit: most = 200 } = query;
  const records = await visibleCalls(runtime, by, { runId: id, limit: most, ...(before !== undefined && { before }) });
  const summary = await visibleRun(runtime, by, id);
  const isKnown =
    records.length > 0 || summary !== undefined || (before !== undefined && (await hasCalls(runtime, by, id)));
  if (!isKnown) return unknownRun(id);
  const next = records.length === most ? records.at(-1)?.call.id : undefined;
  const scripts = await scriptsOf(runtime, by, records);
  const open = scripts.some(({ state }) => openStates.has(state))
    ? await runtime.chains?.list({ tenant: by.principal.tenant, runId: id, limit: 1000, ...askerOf(by) })
    : [];
  const lines = linesIn(scripts.concat(records), open);
  const turnedAway = summary === undefined ? [] : await refusedIn(runtime, summary, records);
  const told = (some: readonly CallRecord[]): Promise<readonly TimelineWire[]> =>
    Promise.all(
      some.map(async (record) => timelineToWire(record, await asked(runtime, record), lines.get(record.call.id))),
    );
  const here = new Set(records.map(({ call }) => call.id));
  const elsewhere = await told(scripts.filter(({ call }) => !here.has(call.id)));
  const calls = [
    ...(await told(records)),
    ...turnedAway.filter(({ call_id: id }) => (before === undefined || id < before) && id > (next ?? "")),
  ].sort((one, other) => (one.call_id < other.call_id ? 1 : -1));
  return answer({ run_id: id, calls, ...(elsewhere.length > 0 && { scripts: elsewhere }), next_before: next });
}

/** Of scripts that have not told their calls yet. */
const openStates: ReadonlySet<CallRecord["state"]> = new Set(["attempted", "suspended", "unknown"]);

/** Those that made these calls, on whichever page they are. */
async function scriptsOf(runtime: Runtime, by: Who, records: readonly CallRecord[]): Promise<readonly CallRecord[]> {
  const keys = new Set(records.flatMap(({ call: { parentId } }) => parentId ?? []));
  const found = await Promise.all([...keys].map((key) => visibleCall(runtime, by, key)));
  return found.filter((record) => record !== undefined);
}

/** Behind its last page there is nothing, and it is a run all the same. */
async function hasCalls(runtime: Runtime, by: Who, id: string): Promise<boolean> {
  return (await visibleCalls(runtime, by, { runId: id, limit: 200 })).length > 0;
}

async function asked(runtime: Runtime, { approvalId }: CallRecord): Promise<ApprovalRecord | undefined> {
  return approvalId === undefined ? undefined : runtime.approvals.get(approvalId);
}

/** Arrivals that ended before they were recorded as calls: only the run's folder has them, where one is kept. */
async function refusedIn(
  { runs }: Runtime,
  { run_id, tenant }: RunSummary,
  recorded: readonly CallRecord[],
): Promise<readonly TimelineWire[]> {
  const known = new Set(recorded.map(({ call }) => call.id));
  const lines: readonly ToolRecord[] = (await runs?.calls({ runId: run_id, tenant }, 1000)) ?? [];
  return lines
    .filter((line) => line.status === "blocked" && line.started_at === undefined && !known.has(line.call_id))
    .map(refusedToTimeline);
}
