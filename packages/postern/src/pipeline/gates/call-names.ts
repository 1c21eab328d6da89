import { modelCallOf, type Principal, parentKeyOf, statedRunOf, type ToolCall } from "@postern/core";
import { sha256 } from "@postern/core/system";

/** The key of a call, and what finds it by its arguments. */
export interface CallNames {
  readonly key: string;
  /** Undefined if the call cannot be found by its arguments. */
  readonly match: string | undefined;
}

export function namesOf(call: ToolCall): CallNames {
  return { key: keyOf(call) ?? modelCallKey(call) ?? call.id, match: matchOf(call) };
}

/** The key that the arrival itself gives. Returns undefined if it has no key and resumes nothing. */
export function keyOf({ authority, tool, action, idempotencyKey, resumes }: ToolCall): string | undefined {
  if (resumes !== undefined || idempotencyKey === undefined) return resumes;
  if (authority.fromChain === true) return chainKey(idempotencyKey);
  return `key_${sha256(`${principalAndAction(authority.principal, tool, action)}\0${idempotencyKey}`).slice(0, 40)}`;
}

/** The same id in the same turn, with the same arguments and in the same stated run, is the same call. */
function modelCallKey(call: ToolCall): string | undefined {
  const { authority, tool, action, digest } = call;
  const modelCall = modelCallOf(call);
  if (modelCall === undefined || authority.fromChain === true) return undefined;
  const place = [statedRunOf(authority) ?? "", digest, "tool call", modelCall.turn, modelCall.id].join("\0");
  return `key_${sha256(`${principalAndAction(authority.principal, tool, action)}\0${place}`).slice(0, 40)}`;
}

/** Hash of the parent's key and the number of the call (core/model-call.ts). The keys of one script share a prefix, so they are near each other in an index. */
function chainKey(ownKey: string): string {
  const ofScript = sha256(`script\0${parentKeyOf(ownKey)}`).slice(0, 12);
  return `key_${ofScript}${sha256(`script\0${ownKey}`).slice(0, 28)}`;
}

/** Undefined for calls of a script: two equal calls of a script are two calls, found by their number. */
function matchOf({ authority, tool, action, digest }: ToolCall): string | undefined {
  return authority.fromChain === true
    ? undefined
    : `${principalAndAction(authority.principal, tool, action)}\0${digest}`;
}

/** Names of principals and tools cannot contain NUL, so this is unambiguous. */
function principalAndAction({ tenant, agent, user = "" }: Principal, tool: string, action: string): string {
  return `${tenant}\0${agent}\0${user}\0${tool}\0${action}`;
}
