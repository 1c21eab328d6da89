/**
 * How things are spelled outside: camelCase inside, snake_case on the wire, times as ISO 8601 in UTC (STYLE 4).
 *
 * Invariant: this file and wire-tools.ts are the only conversion; HTTP, MCP and the command line use them. Names are
 * written out one by one, never split or joined, so that a tool's own names (arguments, structured results) pass untouched.
 */
import type { Autonomy, Principal, Risk } from "../calls/call.ts";
import type { Json, JsonObject } from "../calls/json.ts";
import type { CallStatus, ContentBlock, Mark, Preview, ToolOutcome } from "../calls/outcome.ts";
import type { CallRecord, CallState } from "../calls/records.ts";
import type { Refusal } from "../calls/refusals.ts";
import type { Patience } from "../calls/session.ts";
import type { CallContext } from "../face.ts";
import { readableOutcome } from "../results/readable.ts";
import { howToApprove, openRequestOf, renderOutcome } from "../results/render.ts";
import { readArtifactName } from "../tools/builtin/read-artifact.ts";

/** A content block in snake_case. */
export type BlockWire = { readonly type: ContentBlock["type"] } & JsonObject;

export interface OutcomeWire {
  readonly status: CallStatus;
  readonly call_id: string;
  readonly content: readonly BlockWire[];
  readonly text: string;
  readonly structured?: Json | undefined;
  readonly artifact?: string | undefined;
  readonly files?:
    | readonly { readonly path: string; readonly media_type: string; readonly artifact: string }[]
    | undefined;
  readonly summary?: string | undefined;
  readonly preview?: PreviewWire | undefined;
  readonly marks?: readonly Mark[] | undefined;
  readonly refusal?: Refusal | undefined;
  readonly approval_id?: string | undefined;
  readonly expires_at?: string | undefined;
  readonly how_to_approve?: string | undefined;
  readonly replayed?: true | undefined;
  readonly timed_out?: true | undefined;
}

/** Text and content are what a model reads; the rest is the outcome itself. `tool`: as the caller named it. */
export function outcomeToWire(given: ToolOutcome, tool: string): OutcomeWire {
  const outcome = readableOutcome(given); // one that is on record is as the tool answered it
  const open = openRequestOf(outcome);
  const { text, content } = renderOutcome(outcome, { tool, readOn });
  return {
    status: outcome.status,
    call_id: outcome.callId,
    content: content.map(blockToWire),
    text,
    structured: outcome.structured,
    artifact: outcome.artifact,
    files: outcome.files?.map(({ path, mediaType, artifact }) => ({
      path,
      media_type: mediaType,
      artifact,
    })),
    summary: outcome.summary,
    preview: outcome.preview && previewToWire(outcome.preview),
    marks: outcome.marks,
    refusal: outcome.refusal,
    approval_id: open?.id ?? outcome.approvalId,
    expires_at: open?.expiresAt ?? isoOrNothing(outcome.expiresAt),
    how_to_approve: open && howToApprove(),
    replayed: outcome.replayed,
    timed_out: outcome.timedOut,
  };
}

function readOn(digest: string, fromByte: number): string {
  return `call \`${readArtifactName}\` with {"artifact": "${digest}", "offset": ${fromByte}}, or get /v1/artifacts/${digest}`;
}

function blockToWire(block: ContentBlock): BlockWire {
  const members = Object.entries(block).map(([name, value]) => [snakeNames.get(name) ?? name, value]);
  return Object.fromEntries(members) as BlockWire; // the same members, which are JSON
}

/** Members of content blocks that are spelled differently outside. */
const snakeNames: ReadonlyMap<string, string> = new Map([
  ["mediaType", "media_type"],
  ["fileId", "file_id"],
  ["resourceMeta", "resource_meta"],
]);
export const innerNames: ReadonlyMap<string, string> = new Map([...snakeNames].map(([inner, outer]) => [outer, inner]));

/** `kind`: what to draw first; the summary is always there. */
export type PreviewWire = Preview & { readonly kind: "text" | "diff" | "table" | "message" };

export function previewToWire(preview: Preview): PreviewWire {
  const { table, message, diff } = preview;
  const kind = table !== undefined ? "table" : message !== undefined ? "message" : diff !== undefined ? "diff" : "text";
  return { kind, ...preview };
}

export interface PrincipalWire {
  readonly tenant: string;
  readonly agent: string;
  readonly user?: string | undefined;
  readonly via?: string | undefined;
}

export interface CallWire {
  readonly call_id: string;
  readonly key: string;
  readonly state: CallState;
  readonly tool: string;
  readonly action: string;
  readonly arguments: JsonObject;
  readonly arguments_digest: string;
  readonly requested_by: PrincipalWire;
  readonly run_id: string;
  readonly trace_id: string;
  readonly task_id?: string | undefined;
  readonly step_id?: string | undefined;
  readonly parent_id?: string | undefined;
  readonly autonomy_level?: Autonomy | undefined;
  readonly risk_level: Risk;
  readonly idempotency_key?: string | undefined;
  readonly idempotent: boolean;
  readonly retryable: boolean;
  readonly approval_id?: string | undefined;
  readonly arrived_at: string;
  readonly started_at?: string | undefined;
  readonly ended_at?: string | undefined;
  readonly outcome?: OutcomeWire | undefined;
}

export function callToWire(record: CallRecord): CallWire {
  const { call } = record;
  const { authority } = call;
  return {
    call_id: call.id,
    key: record.key,
    state: record.state,
    tool: call.tool,
    action: call.action,
    arguments: call.arguments,
    arguments_digest: call.digest,
    requested_by: principalToWire(authority.principal),
    run_id: authority.runId,
    trace_id: authority.traceId,
    task_id: authority.taskId,
    step_id: authority.stepId,
    parent_id: call.parentId,
    autonomy_level: authority.autonomy,
    risk_level: record.risk,
    idempotency_key: call.idempotencyKey,
    idempotent: record.idempotent,
    retryable: record.retryable,
    approval_id: record.approvalId,
    arrived_at: iso(call.arrivedAt),
    started_at: isoOrNothing(record.startedAt),
    ended_at: isoOrNothing(record.endedAt),
    outcome: record.outcome && outcomeToWire(record.outcome, call.tool),
  };
}

export function principalToWire({ tenant, agent, user, via }: Principal): PrincipalWire {
  return { tenant, agent, user, via };
}

/** What a caller may say about its call, beside the call. Who it is comes from its token, never from here. */
export interface ContextWire {
  readonly run_id?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly task_id?: string | undefined;
  readonly step_id?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly autonomy?: Autonomy | undefined;
  readonly idempotency_key?: string | undefined;
  /** The id that a model's provider gave the call: the same id in the same run is the same call. */
  readonly tool_call_id?: string | undefined;
  readonly patience?: Patience | undefined;
  readonly approval_wait_ms?: number | undefined;
  /** The agent's own word on why it calls, for whoever is asked. */
  readonly reason?: string | undefined;
}

export function contextFromWire(wire: ContextWire): CallContext {
  return {
    ...(wire.run_id !== undefined && { runId: wire.run_id }),
    ...(wire.trace_id !== undefined && { traceId: wire.trace_id }),
    ...(wire.task_id !== undefined && { taskId: wire.task_id }),
    ...(wire.step_id !== undefined && { stepId: wire.step_id }),
    ...(wire.scopes !== undefined && { scopes: wire.scopes }),
    ...(wire.autonomy !== undefined && { autonomy: wire.autonomy }),
    ...(wire.idempotency_key !== undefined && { idempotencyKey: wire.idempotency_key }),
    ...(wire.tool_call_id !== undefined && { toolCallId: wire.tool_call_id }),
    ...(wire.patience !== undefined && { patience: wire.patience }),
    ...(wire.approval_wait_ms !== undefined && { approvalWaitMs: wire.approval_wait_ms }),
    ...(wire.reason !== undefined && { reason: wire.reason }),
  };
}

/** Wall clock milliseconds as ISO 8601, UTC. A time beyond what a Date can say becomes the last one it can. */
export function iso(ms: number): string {
  return new Date(Math.min(Math.max(ms, -8.64e15), 8.64e15)).toISOString();
}

export function isoOrNothing(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : iso(ms);
}
