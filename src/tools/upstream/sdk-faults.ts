import { messageOf } from "../../calls/fault.ts";
import { lost, notSent } from "./upstream.ts";

/** No connection was made, so nothing was said on it. */
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

/**
 * What a failed call throws to the executor. Three kinds: not sent (may be tried again), answered with a no (it failed),
 * and everything else: it may have happened.
 */
export function callFault(tool: string, error: unknown, sent: boolean): Error {
  const said = reasonOf(error);
  const code = fieldOf(error, "code");
  if (
    !sent ||
    messageOf(error) === "Not connected" ||
    code === "NOT_CONNECTED" ||
    neverConnected.has(causeCode(error))
  ) {
    return notSent(`Tool \`${tool}\`: its server could not be reached: ${said}.`, error);
  }
  if (typeof code === "number" && !(error instanceof DOMException))
    return new Error(`Tool execution failed: ${said}`, { cause: error }); // a JSON-RPC error: the server's own no
  if (code === "UNSUPPORTED_RESULT_TYPE")
    return new Error(`Tool \`${tool}\` asks for input while it runs, which is switched off: ${said}`, { cause: error });
  if (code === "INVALID_RESULT")
    return lost(`Tool \`${tool}\`: its server answered with what the protocol does not have: ${said}`, error);
  const status = statusOf(error);
  if (status === 404 || status === 429)
    return notSent(`Tool \`${tool}\`: its server did not take the call (HTTP ${status}).`, error);
  if (status !== undefined && status >= 300 && status < 500)
    return new Error(`Tool \`${tool}\`: its server refused the call (HTTP ${status}).`, {
      cause: error,
    });
  return lost(`Tool \`${tool}\`: the connection to its server was lost after the call was sent: ${said}`, error);
}

/** Whether this error means that the server, or the session with it, is gone: the connection is made anew. */
export function isGone(error: unknown): boolean {
  const status = statusOf(error);
  return (
    neverConnected.has(causeCode(error)) ||
    status === 404 ||
    (error instanceof TypeError && fieldOf(error, "cause") !== undefined)
  );
}

/** The message, and what lies beneath it: `fetch failed` alone tells nobody anything. */
export function reasonOf(error: unknown): string {
  let root = error;
  for (let depth = 0; depth < 5 && fieldOf(root, "cause") !== undefined; depth += 1) root = fieldOf(root, "cause");
  const said = messageOf(error);
  const beneath = root === error ? "" : messageOf(root);
  return beneath === "" || said.includes(beneath) ? said : `${said} (${beneath})`;
}

function statusOf(error: unknown): number | undefined {
  const status = fieldOf(fieldOf(error, "data"), "status");
  return typeof status === "number" ? status : undefined;
}

/** `fetch` hides what happened in `cause`, the SDK hides that in another one. */
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
