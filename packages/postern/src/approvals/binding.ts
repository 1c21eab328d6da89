import {
  type ApprovalRecord,
  type Authority,
  type Json,
  type JsonObject,
  newId,
  type Preview,
  type ReferencedArtifact,
  type Risk,
  type ToolCall,
  type Weighing,
} from "@postern/core";
import { digestOf, sha256 } from "@postern/core/system";
import type { Caller } from "../call/session.ts";
import { type Routing, routedBy } from "./routes.ts";

/** What an approval is bound to: exactly what was shown, for whom, and until when. */
interface Bound extends Pick<ToolCall, "tool" | "action" | "digest"> {
  readonly authority: Pick<Authority, "principal">;
  readonly key: string;
  readonly found: { readonly definition: string };
}

/** SHA-256 over RFC 8785 bytes. It contains the digest of the exact arguments. */
export function bind({ tool, action, digest, authority, key, found }: Bound, expiresAt: number): string {
  const { tenant, agent, user = "" } = authority.principal;
  return digestOf({
    action,
    agent,
    arguments: digest,
    definition: found.definition,
    expires_at: expiresAt,
    key,
    tenant,
    tool,
    user,
  });
}

/** Whether the record is bound to what it shows. */
export function isBoundAsShown({
  tool,
  action,
  principal,
  key,
  definition,
  arguments: shown,
  binding,
  expiresAt,
}: ApprovalRecord): boolean {
  return (
    binding ===
    bind({ tool, action, digest: digestOf(shown), authority: { principal }, key, found: { definition } }, expiresAt)
  );
}

/**
 * SHA-256 over everything that a card shows: binding, arguments, preview, risk, the tool's summary and the reasons. An
 * approval with this digest approves exactly that. The names are those of the wire, so a client can compute it.
 *
 * @public
 */
export function shownDigest({
  arguments: given,
  binding,
  preview,
  previewDigest,
  risk,
  summary,
  why,
}: ApprovalRecord): string {
  return digestOf({
    binding,
    digest: digestOf(given),
    preview_digest: previewDigest ?? null,
    preview_problem: preview?.problem ?? null,
    risk_level: risk,
    summary: summary ?? null,
    why: why.map((reason) => ({ ...reason })),
  });
}

/** Compares what was shown with what would be shown now. */
export function previewDigest(preview: Preview): string {
  const { summary, diff = null, details = null, supported, table, message } = preview;
  const shaped = { ...(table !== undefined && { table }), ...(message !== undefined && { message: { ...message } }) };
  return sha256(digestOf({ details, diff, summary, supported, ...shaped }));
}

/** The arguments of a request with the content of the artifacts they name, as far as it was read. */
export function shownArguments({ arguments: given, artifacts = [] }: ApprovalRecord): JsonObject {
  if (artifacts.length === 0) return given;
  const texts = new Map(artifacts.map(({ digest, text }) => [digest, text]));
  return JSON.parse(JSON.stringify(given), (_name, value: Json | { readonly $artifact?: unknown }) => {
    const digest = typeof value === "object" && value !== null && "$artifact" in value ? value.$artifact : undefined;
    return typeof digest === "string" ? (texts.get(digest) ?? value) : value;
  }) as JsonObject; // an object stays an object: only references inside it are replaced
}

/** The members of a call that a request needs. Every FreshCall has them; its type would be an upward import. */
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

/** The record of a request: what would run, the reasons, the addressees and the expiry. */
export function requestOf(
  question: Question,
  preview: Preview | undefined,
  { caller, at: requestedAt, routing, ttlMs }: RequestTerms,
): ApprovalRecord {
  const { key, tool, action, authority, risk, weighing, suggestion, found } = question;
  const requirement = routing.requirement({ tool, server: weighing.connector, risk, principal: authority.principal });
  const expiresAt = requestedAt + lifetime(found.approvalTtlMs, requirement.ttlMs, ttlMs);
  return {
    id: newId("apr"),
    key,
    tool,
    action,
    ...(weighing.connector !== undefined && { server: weighing.connector }),
    risk,
    arrivedAt: question.arrivedAt,
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
    routed: routedBy(requirement, requestedAt, expiresAt),
    ...askedBy(caller),
  };
}

function askedBy({ session, reason }: RequestCaller): Pick<ApprovalRecord, "sessionId" | "runCalls" | "reason"> {
  return { sessionId: session.id, runCalls: session.callCount, ...(reason !== undefined && { reason }) };
}

/** The tool's own limit always holds. A route's lifetime replaces the default. */
function lifetime(tool: number | undefined, route: number | undefined, fallback: number): number {
  return route === undefined ? (tool ?? fallback) : Math.min(route, tool ?? route);
}
