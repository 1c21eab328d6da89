import { isJsonObject, type Json } from "../../core/json.ts";
import type { ToolOutcome } from "../../core/outcome.ts";

/** The client lacks a capability; the user must sign in at an address. Clients act on these codes, a model cannot. */
const forClients: ReadonlySet<unknown> = new Set([-32_021, -32_042]);

/**
 * The upstream server's JSON-RPC error that its client must see as one; undefined: it is a result for the model. No
 * `ProtocolError`: of those the SDK lets no -32042 pass to a client of 2026-07-28.
 */
export function relayedError({
  refusal,
}: ToolOutcome): (Error & { readonly code: number; readonly data?: Json }) | undefined {
  const details = refusal?.details;
  const error = isJsonObject(details) ? details["rpc_error"] : undefined;
  if (!isJsonObject(error) || !forClients.has(error["code"])) return undefined;
  const { code, message, data } = error;
  return Object.assign(new Error(String(message)), { code: Number(code), ...(data !== undefined && { data }) });
}
