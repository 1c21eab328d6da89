/** A call as a timeline shows it: when it was where, and what came of it; no arguments and no results. */
import { isJsonObject } from "../calls/json.ts";
import type { ContentBlock } from "../calls/outcome.ts";
import type { ApprovalRecord, CallRecord } from "../calls/records.ts";
import type { ChainSummary } from "../calls/scripts.ts";
import type { ToolRecord } from "../watchers/archive/runs.ts";
import { iso, isoOrNothing } from "./wire.ts";

export interface TimelineWire {
  readonly call_id: string;
  /** What calls of a script name as their parent. */
  readonly key?: string | undefined;
  /** `refused`: it was turned away before anything was recorded of it but that. */
  readonly state: CallRecord["state"] | "refused";
  readonly tool: string;
  readonly action: string;
  readonly agent?: string | undefined;
  readonly user?: string | undefined;
  readonly parent_id?: string | undefined;
  /** Of the script that made it, counted from 1; where its engine knows it. */
  readonly line?: number | undefined;
  readonly risk_level?: CallRecord["risk"] | undefined;
  readonly idempotent?: boolean | undefined;
  readonly retryable?: boolean | undefined;
  /** The refusal's code. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly arrived_at: string;
  readonly started_at?: string | undefined;
  readonly ended_at?: string | undefined;
  readonly approval?: TimelineApprovalWire | undefined;
  readonly artifacts: readonly TimelineArtifactWire[];
}

export interface TimelineApprovalWire {
  readonly approval_id: string;
  readonly status: ApprovalRecord["state"];
  readonly asked_at: string;
  readonly expires_at: string;
  readonly decided_at?: string | undefined;
  readonly decided_as?: string | undefined;
  readonly decided_by?: string | undefined;
}

export interface TimelineArtifactWire {
  readonly digest: string;
  readonly media_type?: string | undefined;
  readonly name?: string | undefined;
}

/** @param line of the script, see `linesIn` */
export function timelineToWire(
  record: CallRecord,
  approval: ApprovalRecord | undefined,
  line: number | undefined,
): TimelineWire {
  const { call, outcome } = record;
  return {
    call_id: call.id,
    key: record.key,
    state: record.state,
    tool: call.tool,
    action: call.action,
    agent: call.authority.principal.agent,
    user: call.authority.principal.user,
    parent_id: call.parentId,
    line,
    risk_level: record.risk,
    idempotent: record.idempotent,
    retryable: record.retryable,
    code: outcome?.refusal?.code,
    message: outcome?.refusal?.message,
    arrived_at: iso(call.arrivedAt),
    started_at: isoOrNothing(record.startedAt),
    ended_at: isoOrNothing(record.endedAt),
    approval: approval && approvalToTimeline(approval),
    artifacts: artifactsOf(record),
  };
}

/**
 * Which line of a script made which call, by the call's id: a script that has ended tells its calls in their order (SPEC 3.8),
 * one that waits those that ended and those it waits for, one that runs all that it has made.
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
    const told = traceOf(script);
    if (told.length === 0) continue;
    const children = records.filter(({ call }) => call.parentId === script.key || call.parentId === script.call.id);
    for (const { call } of children.toSorted((one, other) => (one.call.id < other.call.id ? -1 : 1))) {
      const at = told.findIndex(({ tool, digest }) => tool === call.tool && call.digest.startsWith(digest));
      const [line] = at === -1 ? [] : told.splice(at, 1);
      if (line?.line !== undefined) found.set(call.id, line.line);
    }
  }
  return found;
}

interface Told {
  readonly tool: string;
  readonly digest: string;
  readonly line: number | undefined;
}

function traceOf({ outcome }: CallRecord): Told[] {
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

function approvalToTimeline({ id, state, requestedAt, expiresAt, decision }: ApprovalRecord): TimelineApprovalWire {
  return {
    approval_id: id,
    status: state,
    asked_at: iso(requestedAt),
    expires_at: iso(expiresAt),
    decided_at: isoOrNothing(decision?.at),
    decided_as: decision?.as,
    decided_by: decision?.by,
  };
}

export function refusedToTimeline(line: ToolRecord): TimelineWire {
  return {
    call_id: line.call_id,
    state: "refused",
    tool: line.tool_name,
    action: line.action,
    code: line.error?.code,
    message: line.error?.message,
    arrived_at: iso(Date.parse(line.completed_at) - line.duration_ms),
    ended_at: line.completed_at,
    artifacts: [],
  };
}

/** Each digest once: the whole result first, then what was in it. */
function artifactsOf({ outcome }: CallRecord): readonly TimelineArtifactWire[] {
  if (outcome === undefined) return [];
  const found = new Map<string, TimelineArtifactWire>();
  if (outcome.artifact !== undefined) found.set(outcome.artifact, { digest: outcome.artifact, name: "whole result" });
  for (const { artifact, mediaType, path } of outcome.files ?? [])
    found.set(artifact, { digest: artifact, media_type: mediaType, name: path });
  for (const block of outcome.content) {
    const kept = artifactIn(block);
    if (kept !== undefined && !found.has(kept.digest)) found.set(kept.digest, kept);
  }
  return [...found.values()];
}

function artifactIn(block: ContentBlock): TimelineArtifactWire | undefined {
  if (!("artifact" in block) || block.artifact === undefined) return undefined;
  return {
    digest: block.artifact,
    media_type: block.mediaType,
    name: block.type === "resource" ? block.uri : block.name,
  };
}
