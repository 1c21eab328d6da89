import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { HeldJson } from "../json-in-slices.ts";

/** Where it travels through the SDK's client beside a result; what is under it is no JSON, so that no server can say it. */
const heldKey = "postern/held";

/** The message with the structured content that was left out of it. */
export function withHeld(message: JSONRPCMessage, held: HeldJson | undefined): JSONRPCMessage {
  if (held === undefined || !("result" in message)) return message;
  const { result } = message;
  return { ...message, result: { ...result, _meta: { ...result._meta, [heldKey]: held } } };
}

export function heldIn(result: { readonly _meta?: unknown }): HeldJson | undefined {
  const { _meta: meta } = result;
  const held = typeof meta === "object" && meta !== null && heldKey in meta ? meta[heldKey] : undefined;
  return held instanceof HeldJson ? held : undefined;
}
