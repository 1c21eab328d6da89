/** What a task is now, as the stored rows of its request and its call say it, and how each revision writes it. */
import {
  type ApprovalRecord,
  type CallRecord,
  type JsonObject,
  refusal,
  refusedOutcome,
  type ToolOutcome,
} from "@postern/core";
import { commentNotes } from "../../approvals/comments.ts";
import { isForeign } from "../../call/authority.ts";
import { howToApprove } from "../../results/render.ts";
import { pageOf } from "./answer.ts";
import { toolNameOf } from "./answered.ts";
import type { CallParts } from "./call-parts.ts";
import type { OfferTarget } from "./offer.ts";
import type { McpRequest } from "./request-source.ts";

/** Between two polls: while a person is awaited, and while the tool runs. */
export const pollMs = { waits: 2_000, runs: 1_000 } as const;
/** A task now. Times are wall clock, in milliseconds. */
export interface TaskNow {
  readonly id: string;
  readonly status: "working" | "completed" | "cancelled";
  readonly message: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly ttlMs: number | null;
  readonly pollMs: number;
  readonly target: OfferTarget;
  readonly outcome?: ToolOutcome;
}

export interface StoredTask {
  readonly approval: ApprovalRecord;
  /** The call that the client sent: for a request of a script, the script. */
  readonly row: CallRecord;
}

export async function storedTask(
  id: string,
  { source }: McpRequest,
  { runtime }: CallParts,
): Promise<StoredTask | undefined> {
  const approval = id.startsWith("apr_") ? await runtime.approvals.get(id) : undefined;
  if (approval === undefined || isForeign(approval.principal, source.caller.principal)) return undefined;
  const asked = await runtime.calls.get(approval.key);
  const { parentId, authority } = asked?.call ?? {};
  const row = authority?.fromChain === true && parentId !== undefined ? await runtime.calls.get(parentId) : asked;
  return row && { approval, row };
}

/** What the stored rows say. Returns undefined for a call that goes on, or runs. */
export function storedState(stored: StoredTask, request: McpRequest, parts: CallParts): TaskNow | undefined {
  const { approval, row } = stored;
  if (approval.state === "pending") {
    const name = toolNameOf(row.call, request, parts);
    const text = `\`${name}\` needs a person's approval (${approval.id}). ${howToApprove(pageOf(approval, parts))}`;
    return taskOf(stored, "working", [...commentNotes(approval), text].join(" "), pollMs.waits);
  }
  const isOwn = row.approvalId === approval.id || row.call.tool !== approval.tool; // a script has no request of its own
  const { outcome } = row;
  const wasStopped = outcome?.refusal?.code === "cancelled";
  const hasEnded = ["ok", "failed", "denied"].includes(row.state) || (row.state === "unknown" && wasStopped);
  if (!isOwn || !hasEnded || outcome === undefined) return undefined;
  const isCancelled = wasStopped || isWithdrawn(approval);
  return { ...taskOf(stored, isCancelled ? "cancelled" : "completed", outcome.text, pollMs.runs), outcome };
}

/** The requests that are open for a task: its own, or those of its script, which asks one after the other. */
export async function askedBy({ approval, row }: StoredTask, { runtime }: CallParts): Promise<readonly string[]> {
  if (row.key === approval.key) return [approval.id];
  const held = await runtime.calls.list({ parentId: row.call.id, state: "held" });
  return held.flatMap(({ approvalId }) => approvalId ?? []);
}

/** A suspended script: it waits for each of its requests, or a withdrawn one has cancelled it. Otherwise it goes on. */
export async function suspendedState(stored: StoredTask, { runtime }: CallParts): Promise<TaskNow | undefined> {
  const { call } = stored.row;
  const { runId, principal } = call.authority;
  const scripts = (await runtime.chains?.list({ runId, principal, limit: 1_000 })) ?? [];
  const waiting = scripts.find(({ callId }) => callId === call.id)?.waiting ?? [];
  const asked = await Promise.all(waiting.map(({ approvalId }) => runtime.approvals.get(approvalId)));
  const withdrawn = asked.find((approval) => approval !== undefined && isWithdrawn(approval));
  if (withdrawn !== undefined) {
    const outcome = refusedOutcome(call.id, "denied", refusal("cancelled", cancelledText(withdrawn)));
    return { ...taskOf(stored, "cancelled", outcome.text, pollMs.runs), outcome };
  }
  const isStillAsked = asked.length > 0 && asked.every((approval) => approval?.state === "pending");
  return isStillAsked
    ? taskOf(stored, "working", "The script waits for a person's approval.", pollMs.waits)
    : undefined;
}

function cancelledText({ id, decision }: ApprovalRecord): string {
  const why = decision?.reason === undefined ? "" : ` Reason: ${decision.reason}`;
  return `The script was cancelled: its request ${id} was withdrawn.${why}`;
}

/** By its client or a person. The policy withdraws requests that must be asked again. */
function isWithdrawn({ decision }: ApprovalRecord): boolean {
  return decision?.as === "withdrawn" && decision.by !== "policy";
}

/** In characters. The whole text is in the result. */
const longestMessage = 1_000;

export function shortened(text: string): string {
  return text.slice(0, longestMessage).toWellFormed();
}

export function taskOf(
  { approval, row }: StoredTask,
  status: TaskNow["status"],
  message: string,
  poll: number,
): TaskNow {
  const { id, requestedAt, expiresAt, decision, comments = [] } = approval;
  return {
    ...{ id, status, createdAt: requestedAt, ttlMs: expiresAt - requestedAt, pollMs: poll, target: row.call },
    message: shortened(message),
    updatedAt: Math.max(requestedAt, comments.at(-1)?.at ?? 0, decision?.at ?? 0, row.startedAt ?? 0, row.endedAt ?? 0),
  };
}

/** A task as each revision writes it. */
export function wireOf(
  { id, status, message, createdAt, updatedAt, ttlMs, pollMs: poll }: TaskNow,
  isOld: boolean,
): JsonObject {
  return {
    ...{ taskId: id, status, statusMessage: message },
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ...(isOld ? { ttl: ttlMs, pollInterval: poll } : { ttlMs, pollIntervalMs: poll }),
  };
}
