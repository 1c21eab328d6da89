import { messageOf } from "@postern/core";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { signInNeededIn } from "../../tools/sign-in-needed.ts";
import type { Exchange } from "./exchange.ts";
import { lostCall, notSentError, rateLimitedError, refusedCall, sessionLostError } from "./upstream.ts";

/** No connection was made, so nothing was sent. */
const neverConnected: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** With these, a server or a proxy says that it did not read the request. */
const turnedAway: ReadonlySet<number> = new Set([
  401, 402, 403, 405, 406, 407, 411, 413, 414, 415, 417, 421, 426, 428, 431,
]);
const methodNotFound = -32_601;
/** What servers write about a session that they do not know, among them those made with the Python and TypeScript SDKs. */
const ofSession =
  /\b(?:session|mcp-session-id)\b.{0,60}\b(?:not found|unknown|invalid|expired|terminated|required|missing|closed|does not exist)\b|\b(?:no|invalid|unknown|missing|expired)\b.{0,20}\b(?:session|mcp-session-id)\b|\bserver not initialized\b/i;
const sessionCodes: ReadonlySet<number> = new Set([-32_000, -32_001, -32_002, -32_600]);

/** What is known about a failed call. */
type CallFacts = Pick<Exchange, "refused" | "unreadable" | "resetsAt" | "asText"> & {
  readonly sent: boolean;
  /** The connection has a session, which the server may no longer know. */
  readonly hasSession: boolean;
};

/**
 * The error of a failed call: it was not run and can be sent again, the server refused it, or it may have happened. Only an
 * error that the server sent is a refusal.
 */
export function callFault(tool: string, error: unknown, facts: CallFacts): Error {
  const notSent = withoutRun(error);
  if (notSent !== undefined) return notSent;
  const reason = reasonOf(error);
  const code = fieldOf(error, "code");
  const { refused, unreadable, sent } = facts;
  if (unreadable !== undefined)
    return lostCall(`Tool \`${tool}\`: its server answered, but the answer ${unreadable}`, error);
  const status = statusOf(error);
  const byStatus = status === undefined ? undefined : httpFault({ tool, status, facts }, error);
  if (byStatus !== undefined) return byStatus;
  if (refused !== undefined) return refusal(refused, facts, error);
  if (!sent || reason === "Not connected" || code === "NOT_CONNECTED" || neverConnected.has(causeCode(error)))
    return notSentError(`Tool \`${tool}\`: its server could not be reached: ${reason}.`, error);
  const contentType = fieldOf(fieldOf(error, "data"), "contentType");
  if (code === "CLIENT_HTTP_UNEXPECTED_CONTENT")
    return lostCall(
      `Tool \`${tool}\`: its server answered with ${String(contentType ?? "no content type")}, not with JSON`,
      error,
    );
  return lostCall(`Tool \`${tool}\`: the connection to its server was lost after the call was sent: ${reason}`, error);
}

/** A token was missing: the error is our own, also if the SDK wrapped it. */
function withoutRun(error: unknown): Error | undefined {
  const own = signInNeededIn(error) ?? error;
  return own instanceof Error && "notExecuted" in own ? own : undefined;
}

function refusal(refused: UpstreamRpcError, { hasSession, asText }: CallFacts, cause: unknown): Error {
  const { code } = refused;
  const places = asText.map((place) => `\`${place}\``).join(", ");
  const message = places === "" ? refused.message : `${refused.message} (numbers given as text: ${places})`;
  if (hasSession && isOfSession(refused))
    return sessionLostError(`its server does not know the session: ${message}`, cause);
  return refusedCall(`Tool execution failed: ${message}`, refused, code === methodNotFound, cause);
}

function isOfSession({ code, message }: UpstreamRpcError): boolean {
  return sessionCodes.has(code) && ofSession.test(message);
}

/** Returns undefined when the call may have happened. */
function httpFault(
  { tool, status, facts }: { readonly tool: string; readonly status: number; readonly facts: CallFacts },
  error: unknown,
): Error | undefined {
  const { resetsAt, refused, hasSession } = facts;
  const body = fieldOf(fieldOf(error, "data"), "text");
  const text = typeof body === "string" ? body : "";
  if (status === 429 || (status === 503 && resetsAt !== undefined)) {
    const until = resetsAt === undefined ? "" : ` before ${new Date(resetsAt).toISOString()}`;
    return rateLimitedError(`Tool \`${tool}\`: its server takes no calls${until} (HTTP ${status}).`, resetsAt, error);
  }
  if (isSessionStatus(status, text) && (hasSession || refused === undefined))
    return sessionLostError(`Tool \`${tool}\`: its server did not take the call (HTTP ${status}).`, error);
  if (status < 300 || status >= 500) return undefined;
  const message = `Tool \`${tool}\`: its server refused the call (HTTP ${status})`;
  return refusedCall(
    refused === undefined ? `${message}.` : `${message}: ${refused.message}`,
    refused,
    turnedAway.has(status) || refused?.code === methodNotFound,
    error,
  );
}

function isSessionStatus(status: number, text: string): boolean {
  return status === 404 || status === 410 || (status === 400 && ofSession.test(text));
}

/** Whether the server or the session is lost, so that the connection is made again. */
export function isConnectionLost(error: unknown): boolean {
  const status = statusOf(error);
  const body = fieldOf(fieldOf(error, "data"), "text");
  return (
    neverConnected.has(causeCode(error)) ||
    (status !== undefined && isSessionStatus(status, typeof body === "string" ? body : "")) ||
    (error instanceof TypeError && fieldOf(error, "cause") !== undefined)
  );
}

/** Whether a server could be reached at all. */
export function wasReached(error: unknown): boolean {
  return !neverConnected.has(causeCode(error));
}

/** The message with its root cause: `fetch failed` alone explains nothing. */
export function reasonOf(error: unknown): string {
  let root = error;
  for (let depth = 0; depth < 5 && fieldOf(root, "cause") !== undefined; depth += 1) root = fieldOf(root, "cause");
  const message = withStatus(messageOf(error), statusOf(error));
  const cause = root === error ? "" : messageOf(root);
  return cause === "" || message.includes(cause) ? message : `${message} (${cause})`;
}

/** The SDK's message has the server's text, which may be empty, but not always the status. */
function withStatus(message: string, status: number | undefined): string {
  if (status === undefined || message.includes(String(status))) return message;
  return `${message.replace(/:\s*$/, "")} (HTTP ${status})`;
}

export function statusOf(error: unknown): number | undefined {
  const status = fieldOf(fieldOf(error, "data"), "status");
  return typeof status === "number" ? status : undefined;
}

/** `fetch` puts the reason into `cause`, and the SDK wraps that error again. */
function causeCode(error: unknown): unknown {
  for (
    let cause = fieldOf(error, "cause"), depth = 0;
    cause !== undefined && depth < 5;
    cause = fieldOf(cause, "cause"), depth += 1
  ) {
    const code = fieldOf(cause, "code");
    if (typeof code === "string") return code;
  }
  return undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined; // an object with that field
}
