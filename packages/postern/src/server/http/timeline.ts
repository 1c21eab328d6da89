/** The calls of a run as its timeline shows them: when each was where, and what came of it. */
import {
  type ApprovalRecord,
  type CallRecord,
  type ChainSummary,
  type ContentBlock,
  defined,
  isJsonObject,
  type ToolOutcome,
} from "@postern/core";
import type { Input, runs, timelineCall } from "@postern/core/contract";
import type { RunSummary, ToolRecord } from "../../observe/runs/runs.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { Who } from "../credentials.ts";
import { durationsOf } from "../durations.ts";
import { approvalOf, askerOf, visibleCall, visibleCalls, visibleRun } from "./caller.ts";
import type { RouteRequest } from "./route.ts";

type TimelineRow = Input<typeof timelineCall>;

/** Returns undefined when there is no such run, or when the caller may not know of it. */
export async function timelineOf(
  { runtime, by, query }: RouteRequest<typeof runs.timeline>,
  id: string,
): Promise<Input<typeof runs.timeline.answer> | undefined> {
  const { before, limit = 200 } = query;
  const records = await visibleCalls(runtime, by, { runId: id, limit, ...defined({ before }) });
  const summary = await visibleRun(runtime, by, id);
  const isKnown =
    records.length > 0 || summary !== undefined || (before !== undefined && (await hasCalls(runtime, by, id)));
  if (!isKnown) return undefined;
  const next = records.length === limit ? records.at(-1)?.call.id : undefined;
  const scripts = await scriptsOf(runtime, by, records);
  const open = scripts.some(({ state }) => openStates.has(state))
    ? await runtime.chains?.list({ tenant: by.principal.tenant, runId: id, limit: 1000, ...askerOf(by) })
    : [];
  const lines = linesIn(scripts.concat(records), open);
  const refused = summary === undefined ? [] : await refusedIn(runtime, summary, records);
  const shown = (some: readonly CallRecord[]): Promise<TimelineRow[]> =>
    Promise.all(
      some.map(async (record) => shownCall(record, await approvalOf(runtime, record), lines.get(record.call.id))),
    );
  const here = new Set(records.map(({ call }) => call.id));
  const elsewhere = await shown(scripts.filter(({ call }) => !here.has(call.id)));
  const calls = [
    ...(await shown(records)),
    ...refused.filter(({ call_id: of }) => (before === undefined || of < before) && of > (next ?? "")),
  ].sort((one, other) => (one.call_id < other.call_id ? 1 : -1));
  return { run_id: id, calls, ...(elsewhere.length > 0 && { scripts: elsewhere }), next_before: next };
}

/** Of scripts whose outcome does not list their calls yet. */
const openStates: ReadonlySet<CallRecord["state"]> = new Set(["attempted", "suspended", "unknown"]);

/** The scripts that made these calls, on whichever page they are. */
async function scriptsOf(runtime: Runtime, by: Who, records: readonly CallRecord[]): Promise<readonly CallRecord[]> {
  const keys = new Set(records.flatMap(({ call: { parentId } }) => parentId ?? []));
  const found = await Promise.all([...keys].map((key) => visibleCall(runtime, by, key)));
  return found.filter((record) => record !== undefined);
}

/** The page after the last one is empty, and the run exists all the same. */
async function hasCalls(runtime: Runtime, by: Who, id: string): Promise<boolean> {
  return (await visibleCalls(runtime, by, { runId: id, limit: 200 })).length > 0;
}

/** Arrivals that ended before they were recorded as calls: only the run's folder has them, if one is kept. */
async function refusedIn(
  { runs }: Runtime,
  { run_id, tenant }: RunSummary,
  recorded: readonly CallRecord[],
): Promise<readonly TimelineRow[]> {
  const known = new Set(recorded.map(({ call }) => call.id));
  const lines: readonly ToolRecord[] = (await runs?.calls({ runId: run_id, tenant }, 1000)) ?? [];
  return lines
    .filter((line) => line.status === "blocked" && line.started_at === undefined && !known.has(line.call_id))
    .map(shownRefusal);
}

/** @param line of the script, see `linesIn` */
export function shownCall(
  row: CallRecord,
  approval: ApprovalRecord | undefined,
  line: number | undefined,
): TimelineRow {
  const { call, outcome, risk, ...record } = row;
  const { id, tool, action, parentId, arrivedAt, authority } = call;
  return {
    ...record,
    ...{ tool, action, line },
    call_id: id,
    agent: authority.principal.agent,
    user: authority.principal.user,
    parent_id: parentId,
    risk_level: risk,
    code: outcome?.refusal?.code,
    message: outcome?.refusal?.message,
    approval: approval && shownApproval(approval),
    arrived_at: arrivedAt,
    started_at: record.startedAt,
    ended_at: record.endedAt,
    durations: durationsOf(row, approval),
    artifacts: artifactsOf(outcome),
  };
}

/**
 * Which line of a script made which call, by the call's id. The lines come from the outcome of a script that has ended,
 * from the ended and the awaited calls of one that waits, and from all calls of one that runs.
 */
export function linesIn(
  records: readonly CallRecord[],
  open: readonly Pick<ChainSummary, "lines" | "waiting">[] = [],
): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const asked = new Map(open.flatMap((script) => script.waiting.map(({ approvalId, line }) => [approvalId, line])));
  for (const { call, approvalId = "" } of records) {
    const line = asked.get(approvalId);
    if (line !== undefined) found.set(call.id, line);
  }
  for (const { callId, line } of open.flatMap(({ lines }) => lines)) found.set(callId, line);
  for (const script of records) {
    const trace = traceOf(script);
    if (trace.length === 0) continue;
    const children = records.filter(({ call }) => call.parentId === script.key || call.parentId === script.call.id);
    for (const { call } of children.toSorted((one, other) => (one.call.id < other.call.id ? -1 : 1))) {
      const at = trace.findIndex(({ tool, digest }) => tool === call.tool && call.digest.startsWith(digest));
      const [traced] = at === -1 ? [] : trace.splice(at, 1);
      if (traced?.line !== undefined) found.set(call.id, traced.line);
    }
  }
  return found;
}

interface TracedCall {
  readonly tool: string;
  readonly digest: string;
  readonly line: number | undefined;
}

function traceOf({ outcome }: CallRecord): TracedCall[] {
  const trace = isJsonObject(outcome?.structured) ? outcome.structured["call_trace"] : undefined;
  if (!Array.isArray(trace)) return [];
  return trace
    .filter(isJsonObject)
    .flatMap(({ tool, args_digest: digest, line }) =>
      typeof tool === "string" && typeof digest === "string" && digest !== ""
        ? [{ tool, digest, line: typeof line === "number" ? line : undefined }]
        : [],
    );
}

function shownApproval({ id, state, requestedAt, expiresAt, decision }: ApprovalRecord): TimelineRow["approval"] {
  return {
    approval_id: id,
    status: state,
    asked_at: requestedAt,
    expires_at: expiresAt,
    decided_at: decision?.at,
    decided_as: decision?.as,
    decided_by: decision?.by,
  };
}

function shownRefusal(line: ToolRecord): TimelineRow {
  return {
    call_id: line.call_id,
    state: "refused",
    tool: line.tool_name,
    action: line.action,
    code: line.error?.code,
    message: line.error?.message,
    arrived_at: Date.parse(line.completed_at) - line.duration_ms,
    ended_at: line.completed_at,
    durations: { gate_ms: line.duration_ms },
    artifacts: [],
  };
}

type TimelineArtifact = TimelineRow["artifacts"][number];

/** Each digest once: the whole result first, then what was in it. */
function artifactsOf(outcome: ToolOutcome | undefined): readonly TimelineArtifact[] {
  if (outcome === undefined) return [];
  const found = new Map<string, TimelineArtifact>();
  if (outcome.artifact !== undefined) found.set(outcome.artifact, { digest: outcome.artifact, name: "whole result" });
  for (const { artifact, mediaType, path } of outcome.files ?? [])
    found.set(artifact, { digest: artifact, media_type: mediaType, name: path });
  for (const block of outcome.content) {
    const artifact = artifactIn(block);
    if (artifact !== undefined && !found.has(artifact.digest)) found.set(artifact.digest, artifact);
  }
  return [...found.values()];
}

function artifactIn(block: ContentBlock): TimelineArtifact | undefined {
  if (!("artifact" in block) || block.artifact === undefined) return undefined;
  return {
    digest: block.artifact,
    media_type: block.mediaType,
    name: block.type === "resource" ? block.uri : block.name,
  };
}
