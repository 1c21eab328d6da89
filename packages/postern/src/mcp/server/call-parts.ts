import type { Clock, JsonObject } from "@postern/core";
import type { ClientOfCall } from "../../call/client-of-call.ts";
import type { CallContext, Runtime, RuntimeSession, SessionCall } from "../../runtime/api/api.ts";
import type { Windows } from "../../runtime/services/windows.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { ownMeta } from "../protocol/revisions.ts";
import type { Places } from "./answer.ts";
import { callerKey, type McpCaller, type McpRequest, type RequestSource } from "./request-source.ts";

export interface CallParts {
  readonly runtime: Runtime;
  readonly windows: Windows;
  readonly clock: Clock;
  readonly approvalWaitMs: number;
  /** Where people reach the console, once it listens. */
  readonly console: Places["console"];
}

/** What every call of a client is made with. */
export function callOptions({ meta, signal }: McpRequest, client: ClientOfCall | undefined): SessionCall {
  const idempotencyKey = metaText(meta, "postern/idempotency-key", 256);
  const reason = metaText(meta, "postern/reason", 2_000);
  return {
    ...{ signal, requestMeta: ownMeta(meta) ?? {} },
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(reason !== undefined && { reason }),
    ...(client !== undefined && { client }),
  };
}

/** Another session of the client has the same budget. */
export function sessionOf<T>(
  { caller }: RequestSource,
  { windows }: CallParts,
  work: (session: RuntimeSession) => Promise<T>,
): Promise<T> {
  return windows.use(`${callerKey(caller)}\n${windows.today}`, contextOf(caller), work);
}

/** A caller whose rights have changed gets a new session at once. */
function contextOf({ principal, scopes, autonomy }: McpCaller): CallContext {
  return { principal, scopes, ...(autonomy !== undefined && { autonomy }) };
}

/** A text that the caller sends beside the arguments: its idempotency key, or its reason. */
function metaText(meta: JsonObject, name: string, most: number): string | undefined {
  const given = meta[name];
  if (given === undefined || (typeof given === "string" && given !== "" && given.length <= most)) return given;
  throw new RpcFault(rpcCodes.invalidParams, `\`_meta["${name}"]\` must be a text of 1 to ${most} characters.`);
}
