import type { JsonObject } from "@postern/core";

/** A longer error is not added to the details of a refusal. */
const mostDetailBytes = 64 * 1024;

/** The JSON-RPC error with which a server refused a call. */
export interface UpstreamRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

const errors = new WeakMap<object, UpstreamRpcError>();

/** Only errors marked by this function count, because a tool's own error may have any member. */
export function withRpcError<Fault extends Error>(fault: Fault, error: UpstreamRpcError): Fault {
  errors.set(fault, error);
  return fault;
}

/** As the details of a refusal; undefined for any other failure. */
export function rpcDetailsOf(fault: unknown): JsonObject | undefined {
  const error = typeof fault === "object" && fault !== null ? errors.get(fault) : undefined;
  if (error === undefined) return undefined;
  const { code, message } = error;
  const whole = JSON.stringify({ rpc_error: { code, message, data: error.data } });
  return whole.length > mostDetailBytes
    ? { rpc_error: { code, message: message.slice(0, 2_000) } }
    : (JSON.parse(whole) as JsonObject); // JSON that was an object
}
