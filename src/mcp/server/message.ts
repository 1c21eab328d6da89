import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { parseStrict } from "../../core/strict-json.ts";
import { withoutNulls } from "../protocol/null-members.ts";

/** A JSON-RPC error as it is sent. */
export interface RpcError {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

export type ReadMessage = { readonly message: Json } | { readonly refused: RpcError };

/** One message as it came, over HTTP and over pipes alike: JSON that means one thing only, and no batch. */
export function readMessage(bytes: Uint8Array | string): ReadMessage {
  const text = typeof bytes === "string" ? bytes : decoded(bytes);
  if (text === undefined) return { refused: rpcError(-32_700, "The message is not UTF-8.") };
  const read = parseStrict(text);
  if ("problem" in read) return { refused: rpcError(-32_700, read.problem, idIn(text)) };
  if (Array.isArray(read.value))
    return { refused: rpcError(-32_600, "Batches are not part of the protocol; send one message at a time.") };
  return { message: withoutNullParams(read.value) };
}

/** Null stands for an optional member that is not given; a tool's own arguments stay as they are. */
function withoutNullParams(message: Json): Json {
  if (!isJsonObject(message) || message["params"] === undefined) return message;
  const { params, ...rest } = message;
  if (params === null) return rest;
  if (!isJsonObject(params)) return message;
  const { arguments: given = null, ...own } = params;
  const cleaned = withoutNulls(own, Number.POSITIVE_INFINITY);
  return { ...message, params: given === null ? cleaned : { ...cleaned, arguments: given } };
}

export function rpcError(code: number, message: string, id: RpcError["id"] = null): RpcError {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

/** Two requests under one id cannot be told apart: the one's answer would be the other's, and the other would wait for ever. */
export function idUnderWay(id: string | number): RpcError {
  return rpcError(-32_600, "A request with this `id` is under way; give every request its own.", id);
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined; // the decoder says no more than that
  }
}

/** What is longer was refused because it is much to read. */
const longestToLookInto = 100_000;

/** Whoever waits for an answer gets one, where the text is JSON all the same: the id is given back and means nothing to us. */
function idIn(text: string): RpcError["id"] {
  if (text.length > longestToLookInto) return null;
  try {
    const message = JSON.parse(text) as Json; // JSON.parse makes nothing but JSON
    const id = isJsonObject(message) ? message["id"] : undefined;
    return (typeof id === "string" && id.isWellFormed()) || Number.isSafeInteger(id) ? (id as string | number) : null; // one of the two
  } catch {
    return null; // it is not JSON at all
  }
}
