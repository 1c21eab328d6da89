import type { Risk, ToolCall } from "../core/call.ts";
import type { Weighing } from "../core/event.ts";
import { newId } from "../core/ids.ts";
import type { Preview } from "../core/outcome.ts";
import type { ApprovalRecord, ReferencedArtifact } from "../core/records.ts";
import type { Caller } from "../core/session.ts";
import { bind, previewDigest } from "./binding.ts";
import { type Routing, routedBy } from "./routes.ts";

/** What a request needs of a call. Each FreshCall is one; its type would be an import upwards. */
export interface Question extends ToolCall {
  readonly key: string;
  readonly match: string | undefined;
  readonly risk: Risk;
  readonly weighing: Weighing;
  readonly suggestion: { readonly summary?: string } | undefined;
  readonly resolved?: { readonly artifacts: readonly ReferencedArtifact[] } | undefined;
  readonly found: {
    readonly definition: string;
    readonly idempotent: boolean;
    readonly facts: { readonly effects: "read" | "write" | "destructive" };
    readonly approvalTtlMs: number | undefined;
    readonly previewBinds: boolean;
  };
}

/** What a request needs of its caller. */
export type RequestCaller = Pick<Caller, "session" | "reason">;

interface RequestTerms {
  readonly caller: RequestCaller;
  readonly at: number;
  readonly routing: Routing;
  /** If neither a route nor the tool states a lifetime. */
  readonly ttlMs: number;
}

/** The record of a request: what would run, why it is asked, who is asked, until when. */
export function requestOf(
  question: Question,
  preview: Preview | undefined,
  { caller, at: requestedAt, routing, ttlMs }: RequestTerms,
): ApprovalRecord {
  const { key, tool, action, authority, risk, weighing, suggestion, found } = question;
  const demand = routing.demand({ tool, server: weighing.connector, risk, principal: authority.principal });
  const expiresAt = requestedAt + lifetime(found.approvalTtlMs, demand.ttlMs, ttlMs);
  return {
    id: newId("apr"),
    key,
    tool,
    action,
    ...(weighing.connector !== undefined && { server: weighing.connector }),
    risk,
    requestedAt,
    expiresAt,
    state: "pending",
    principal: authority.principal,
    runId: authority.runId,
    traceId: authority.traceId,
    asked: question.arguments,
    arguments: question.arguments,
    ...(question.resolved !== undefined && { artifacts: question.resolved.artifacts }),
    binding: bind(question, expiresAt),
    definition: found.definition,
    ...(authority.autonomy !== undefined && { autonomy: authority.autonomy }),
    why: weighing.reasons,
    ...(suggestion?.summary !== undefined && { summary: suggestion.summary }),
    policyVersion: weighing.policyVersion,
    ...(preview !== undefined && {
      ...{ preview, previewDigest: previewDigest(preview), previewBinds: found.previewBinds },
    }),
    routed: routedBy(demand, requestedAt, expiresAt),
    ...askedBy(caller),
  };
}

function askedBy({ session, reason }: RequestCaller): Pick<ApprovalRecord, "sessionId" | "runCalls" | "reason"> {
  return { sessionId: session.id, runCalls: session.callCount, ...(reason !== undefined && { reason }) };
}

/** The tool's own limit always holds. A route's lifetime replaces the default. */
function lifetime(tool: number | undefined, route: number | undefined, otherwise: number): number {
  return route === undefined ? (tool ?? otherwise) : Math.min(route, tool ?? route);
}
