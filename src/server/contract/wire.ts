/**
 * What is camelCase inside, in the form of the contract, which is snake_case. Names are written out one by one, never
 * split or joined, so that a tool's own names (arguments, structured results) stay as they are.
 */

import { readArtifactName } from "../../builtin/read-artifact.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ContentBlock, Preview, ToolOutcome } from "../../core/outcome.ts";
import type { CallRecord } from "../../core/records.ts";
import { readableOutcome } from "../../results/readable.ts";
import { howToApprove, openRequestOf, renderOutcome } from "../../results/render.ts";
import type { call as callSchema } from "./calls.ts";
import { iso } from "./fields.ts";
import type { outcome as outcomeSchema, preview as previewSchema } from "./outcome.ts";
import type { Input } from "./route.ts";

/** Text and content are what a model reads; the rest is the outcome itself. `tool`: as the caller named it. */
export function outcomeToWire(given: ToolOutcome, tool: string): Input<typeof outcomeSchema> {
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

function blockToWire(block: ContentBlock): JsonObject {
  return Object.fromEntries(Object.entries(block).map(([name, value]) => [snakeNames.get(name) ?? name, value]));
}

/** Members of content blocks that are spelled differently outside. */
const snakeNames: ReadonlyMap<string, string> = new Map([
  ["mediaType", "media_type"],
  ["fileId", "file_id"],
  ["resourceMeta", "resource_meta"],
]);
export const innerNames: ReadonlyMap<string, string> = new Map([...snakeNames].map(([inner, outer]) => [outer, inner]));

export function previewToWire(preview: Preview): Input<typeof previewSchema> {
  const { table, message, diff } = preview;
  const kind = table !== undefined ? "table" : message !== undefined ? "message" : diff !== undefined ? "diff" : "text";
  return { kind, ...preview };
}

export function callToWire(record: CallRecord): Input<typeof callSchema> {
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
    requested_by: authority.principal,
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
    arrived_at: call.arrivedAt,
    started_at: record.startedAt,
    ended_at: record.endedAt,
    outcome: record.outcome && outcomeToWire(record.outcome, call.tool),
  };
}

export { iso };

export function isoOrNothing(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : iso(ms);
}
