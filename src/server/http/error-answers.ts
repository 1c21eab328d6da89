/** What the door itself answers, before any route or instead of one, and what every answer carries. */
import { messageOf, RuntimeFault } from "../../core/fault.ts";
import { type FaultCode, faultStatus } from "../../core/fault-codes.ts";
import { newTraceId } from "../../core/ids.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { Identified } from "../identify.ts";
import { answer, problem } from "./answers.ts";

export async function healthz(request: Request, runtime: Runtime): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    return problem("method_not_allowed", "`/healthz` takes GET.", { headers: { allow: "GET" } });
  }
  const { status, problem: reason } = await runtime.checkHealth();
  return answer({ status, ...(reason !== undefined && { problem: reason }) }, status === "ok" ? 200 : 503);
}

export function refuseNobody({ nobody }: Extract<Identified, { nobody: string }>, isTooMany: boolean): Response {
  const headers = { "www-authenticate": "Bearer" };
  if (isTooMany)
    return problem("too_many_attempts", "Too many wrong tokens; wait a second.", { headers: { "retry-after": "1" } });
  switch (nobody) {
    case "missing":
      return problem("token_missing", "Send `Authorization: Bearer TOKEN`; the tokens are in the data folder.", {
        headers,
      });
    case "wrong_token":
      return problem("token_invalid", "This token is not known here; the tokens are in the data folder.", { headers });
    case "ended":
      return problem("session_ended", "This session has ended; sign in again.", { headers });
    case "no_csrf":
      return problem(
        "csrf_refused",
        "A session's cookie alone is nobody's: send `csrf`, told once at sign-in, as `x-postern-csrf`. A page that lost it signs in again.",
        { headers },
      );
    case "no_origin":
      return problem(
        "page_refused",
        "A page that changes something says where it stands (`Origin`); a program uses a token.",
      );
  }
}

export function failed(
  request: Request,
  error: unknown,
  log: ((message: string, fields: Readonly<Record<string, string>>) => void) | undefined,
): Response {
  if (request.signal.aborted) return new Response(null, { status: 499 }); // nobody is there to read it
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

/** For every answer, whoever made it: nothing is kept by caches, guessed at, run, framed or read by other sites. */
const securityHeaders: Readonly<Record<string, string>> = {
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
