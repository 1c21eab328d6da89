import {
  type FaultCode,
  faultStatus,
  type Json,
  messageOf,
  newTraceId,
  RuntimeFault,
  refusals,
  type ToolOutcome,
} from "@postern/core";
import { each } from "@postern/core/contract";
import { decisionProblems } from "../../approvals/decision.ts";
import { accountProblems } from "../../identity/accounts.ts";
import type { TokenRefusal } from "../../identity/resource-server.ts";
import { channelProblems } from "../../observe/notify/decisions.ts";
import type { Identified } from "../credentials.ts";
import { outcomeToWire } from "../wire.ts";

/** What the server itself refuses, with the HTTP number. A call's own refusals are in core/refusals.ts. */
const serverProblems = {
  ...each(400, "json_invalid"),
  ...each(401, "token_missing", "token_invalid", "session_ended", "csrf_refused", "sign_in_refused"),
  ...each(403, "token_claim_refused", "scope_insufficient"),
  ...each(403, "permission_missing", "page_refused", "run_foreign", "policy_not_editable"),
  ...each(404, "route_unknown", "tool_unknown", "call_unknown", "artifact_unavailable", "run_unknown"),
  ...each(404, "event_unknown", "head_unknown", "alarm_unknown", "grant_unknown"),
  ...each(404, "candidate_unknown", "skill_unknown", "connection_unknown", "server_unknown"),
  ...each(405, "method_not_allowed"),
  ...each(409, "head_behind", "alarm_resolved", "skill_refused", "definition_differs", "not_unknown"),
  ...each(409, "server_busy"),
  ...each(409, "candidate_decided", "candidate_unclear", "still_unknown", "policy_changed", "policy_elsewhere"),
  ...each(413, "body_too_large"),
  ...each(415, "content_type_refused"),
  ...each(421, "host_refused"),
  ...each(422, "request_invalid", "candidate_refused", "policy_refused"),
  ...each(429, "too_many_attempts", "budget_exhausted"),
  ...each(500, "internal"),
  ...each(501, "runs_off", "accounts_off", "openid_off", "mcp_not_served", "memory_off", "policy_reading_off"),
  ...each(501, "metrics_off"),
  ...each(501, "policy_file_off"),
  ...each(502, "openid_failed", "memory_failed", "connection_failed"),
  ...each(503, "too_many_readers", "issuer_unreachable", "draining"),
};

export const problems: typeof serverProblems &
  typeof decisionProblems &
  typeof accountProblems &
  typeof channelProblems = {
  ...serverProblems,
  ...decisionProblems,
  ...accountProblems,
  ...channelProblems,
};
export type ProblemCode = keyof typeof problems;

function statusFor(code: ProblemCode | FaultCode): number {
  return code in problems ? problems[code as ProblemCode] : faultStatus(code);
}

interface More {
  readonly details?: Json;
  readonly traceId?: string;
  /** Beside `error`: the record that was decided already, for example. */
  readonly beside?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export function answer(body: object, status = 200): Response {
  return Response.json(body, { status });
}

/** @param message what was wrong, with the value, and what to do */
export function problem(code: ProblemCode | FaultCode, message: string, more: More = {}): Response {
  const error = { code, message, details: more.details, trace_id: more.traceId };
  return Response.json({ error, ...more.beside }, { status: statusFor(code), headers: { ...more.headers } });
}

/** A fault of the caller is a problem of the request; any other is a bug. */
export async function answered<Answer>(
  then: () => Promise<Answer>,
  problemOf: (code: string) => ProblemCode | undefined,
): Promise<Answer | Response> {
  try {
    return await then();
  } catch (error) {
    const code = error instanceof RuntimeFault ? problemOf(error.code) : undefined;
    if (code === undefined) throw error;
    return problem(code, messageOf(error));
  }
}

/** The outcome is the body, whatever the status is: a refused call is an answer, not a problem of the request. */
export function answerOutcome(outcome: ToolOutcome, tool: string): Response {
  const headers = outcome.refusal?.code === "draining" ? retryLater : {};
  return Response.json(outcomeToWire(outcome, tool), { status: statusOf(outcome), headers });
}

/** Another gateway answers at once, and this one is started again within seconds. */
export const retryLater: Readonly<Record<string, string>> = { "retry-after": "5" };

function statusOf(outcome: ToolOutcome): number {
  switch (outcome.status) {
    case "ok":
    case "preview":
      return 200;
    case "pending":
      return 202;
    case "error":
    case "denied":
      return refusals[outcome.refusal?.code ?? "tool_failed"].http;
  }
}

const whereTokensAre =
  "an agent on the machine of Postern uses `agent.token` of the data folder, and `postern tokens create NAME` makes a token for any other program.";

/** What `WWW-Authenticate` says beside the scheme: where a client signs in, when it can. */
export interface Challenge {
  /** The address of the metadata of this endpoint (RFC 9728). */
  readonly resourceMetadata: string;
  /** What a client should ask for. */
  readonly scopes: readonly string[];
}

/** Whether the credential may be a guess. A token with a right signature is none. */
export function isGuess(found: Extract<Identified, { refused: string }>): boolean {
  return found.refused === "wrong_token" || (found.refused === "oauth_token" && found.because.why === "invalid");
}

export function refuseCaller(
  found: Extract<Identified, { refused: string }>,
  isTooMany: boolean,
  challenge?: Challenge,
): Response {
  const headers = { "www-authenticate": bearer(challenge) };
  if (isTooMany)
    return problem("too_many_attempts", "Too many wrong tokens; wait a second.", { headers: { "retry-after": "1" } });
  switch (found.refused) {
    case "oauth_token":
      return refuseToken(found.because, challenge);
    case "missing":
      return problem(
        "token_missing",
        `No token came with the request. Send \`Authorization: Bearer TOKEN\`; ${whereTokensAre}`,
        {
          headers,
        },
      );
    case "wrong_token":
      return problem(
        "token_invalid",
        `This token is not known here: it is mistyped, revoked, expired, or of another Postern. Send another one; ${whereTokensAre}`,
        { headers },
      );
    case "ended":
      return problem("session_ended", "This session has ended; sign in again.", { headers });
    case "no_csrf":
      return problem(
        "csrf_refused",
        "A session's cookie is not enough: send `csrf`, which the sign-in answered once, as `x-postern-csrf`. A page that lost it signs in again.",
        { headers },
      );
    case "no_origin":
      return problem("page_refused", "A page that changes something must send `Origin`; a program uses a token.");
  }
}

/** RFC 6750: 401 where another token helps, 403 where this person or client may not. */
function refuseToken({ why, message }: TokenRefusal, challenge: Challenge | undefined): Response {
  switch (why) {
    case "invalid":
    case "expired":
      return problem("token_invalid", message, { headers: { "www-authenticate": bearer(challenge, "invalid_token") } });
    case "scope":
      return problem("scope_insufficient", message, {
        headers: { "www-authenticate": bearer(challenge, "insufficient_scope") },
      });
    case "claim":
      return problem("token_claim_refused", message); // another token of the same server has the same claims
    case "unreachable":
      return problem("issuer_unreachable", message, { headers: { "retry-after": "10" } });
  }
}

/** Scopes hold no quotes, and the address is our own. */
function bearer(challenge: Challenge | undefined, error?: "invalid_token" | "insufficient_scope"): string {
  const parts = [
    ...(error === undefined || challenge === undefined ? [] : [`error="${error}"`]),
    ...(challenge === undefined ? [] : [`resource_metadata="${challenge.resourceMetadata}"`]),
    ...(challenge === undefined || challenge.scopes.length === 0 ? [] : [`scope="${challenge.scopes.join(" ")}"`]),
  ];
  return parts.length === 0 ? "Bearer" : `Bearer ${parts.join(", ")}`;
}

export function failed(
  request: { readonly url: string; readonly signal?: { readonly aborted: boolean } },
  error: unknown,
  log: ((message: string, fields: Readonly<Record<string, string>>) => void) | undefined,
): Response {
  if (request.signal?.aborted === true) return new Response(null, { status: 499 }); // the client has left
  const code = error instanceof RuntimeFault ? error.code : "internal";
  const status = faultStatus(code);
  const traceId = newTraceId();
  if (status < 500) return problem(code as FaultCode, messageOf(error), { traceId }); // only known codes have such a status
  log?.("A request failed inside.", {
    trace_id: traceId,
    path: new URL(request.url).pathname,
    error: messageOf(error),
  });
  if (status > 500) return problem(code as FaultCode, messageOf(error), { traceId });
  return problem("internal", "Something went wrong inside; the log has more under this trace id.", {
    traceId,
  });
}

/** On every answer: caches keep nothing, browsers guess, run and frame nothing, and other sites read nothing. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** The console's files say these two themselves. */
export const pageHeaders: readonly string[] = ["content-security-policy", "cache-control"];

/** @param own headers that an answer may have set itself */
export function secured(response: Response, own: readonly string[] = []): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(securityHeaders))
    if (!(own.includes(name) && headers.has(name))) headers.set(name, value);
  for (const name of [...headers.keys()]) if (name.startsWith("access-control-")) headers.delete(name);
  return new Response(response.body, { status: response.status, headers });
}
