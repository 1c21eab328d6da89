/** The events of requests in the audit log. */
import {
  type ApprovalComment,
  type ApprovalRecord,
  commentedType,
  type DurableEvent,
  type JsonObject,
  type NotedEvent,
  shortened,
  type ToolCall,
} from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { DueStep } from "./expiry.ts";
import { type DatedDecision, votesLeft, type WrittenDecision } from "./quorum.ts";
import { isOpen } from "./routes.ts";

type VersionedDecision = DatedDecision & { readonly policyVersion: string };

export function decidedEvent(call: ToolCall, next: ApprovalRecord, decision: VersionedDecision): DurableEvent {
  const { as, by, via, at, reason, policyVersion } = decision;
  const approved = approvedInstead(call, next, decision);
  return {
    moment: "decided",
    at,
    call,
    approvalId: next.id,
    as,
    by,
    via,
    risk: next.risk,
    policyVersion,
    ...(reason !== undefined && { reason }),
    ...(approved !== undefined && { approved }),
  };
}

export function votedEvent(call: ToolCall, next: ApprovalRecord, decision: VersionedDecision): DurableEvent {
  const approved = approvedInstead(call, next, decision);
  const { as, by, via, at, reason, quorum, policyVersion } = decision;
  const left = votesLeft(next, quorum);
  const what = as === "modified" ? "edited" : `voted on (${as})`;
  return approvalEvent(next, {
    type: "approval.voted",
    summary: `${next.tool} ${what} by ${by}, ${left} more must say yes`,
    at,
    by,
    via,
    policyVersion,
    data: {
      as,
      quorum_left: left,
      ...(approved !== undefined && { approved_hash: approved }),
      ...(reason !== undefined && { reason }),
    },
  });
}

interface ApprovalNews extends Pick<NotedEvent, "type" | "summary" | "at" | "policyVersion"> {
  readonly by?: string;
  readonly via?: string;
  readonly data?: JsonObject;
}

function approvalEvent(
  approval: ApprovalRecord,
  { type, summary, at, policyVersion, by, via, data }: ApprovalNews,
): NotedEvent {
  const { id, tool, action, risk, runId, traceId, principal } = approval;
  return {
    moment: "noted",
    ...{ at, type, summary },
    traceId,
    tenant: principal.tenant,
    ...(by !== undefined && { by }),
    ...(via !== undefined && { via }),
    policyVersion,
    outcome: "info",
    data: { approval_id: id, tool, action, risk, run: runId, ...data },
  };
}

export function commentedEvent(
  approval: ApprovalRecord,
  { by, via, at, text }: ApprovalComment,
  policyVersion: string,
): NotedEvent {
  const summary = `${approval.tool}: ${by} wrote to its agent: ${shortened(text, 200)}`;
  return approvalEvent(approval, { type: commentedType, summary, at, by, via, policyVersion, data: { text } });
}

export function reminderEvent(
  approval: ApprovalRecord,
  due: DueStep,
  when: Pick<ApprovalNews, "at" | "policyVersion">,
): NotedEvent {
  const { tool, expiresAt, routed } = approval;
  const expires_at = new Date(expiresAt).toISOString();
  if (due === "reminder")
    return approvalEvent(approval, {
      ...when,
      type: "approval.reminder",
      summary: `${tool} still waits for a person, until ${expires_at}`,
      data: { expires_at, to: { ...routed?.to } },
    });
  const to = routed?.escalateTo ?? {};
  const names = [...(to.users ?? []), ...(to.roles ?? []), ...(to.groups ?? [])].join(", ");
  const whom = isOpen(to) ? "every person who may decide" : names;
  return approvalEvent(approval, {
    ...when,
    type: "approval.escalated",
    summary: `${tool} still waits for a person; ${whom} may decide as well`,
    data: { expires_at, to: { ...to } },
  });
}

/** The digest of the approved arguments, if they differ from those that were asked. */
function approvedInstead(
  call: ToolCall,
  { arguments: runs }: ApprovalRecord,
  { as }: WrittenDecision,
): string | undefined {
  if (as !== "approved" && as !== "modified") return undefined;
  const digest = digestOf(runs);
  return digest === call.digest ? undefined : digest;
}
