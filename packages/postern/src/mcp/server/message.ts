import { isJsonObject, type Json, type JsonObject, parseStrict, shown } from "@postern/core";
import { withoutNulls } from "../protocol/null-members.ts";

/** A JSON-RPC error as it is sent. */
export type RpcError = {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}; // no interface, because it is sent as JSON

export type ReadMessage = { readonly message: Json } | { readonly refused: RpcError };

/** Reads one message, over HTTP or pipes: unambiguous JSON, and no batch. */
export function readMessage(bytes: Uint8Array): ReadMessage {
  const text = decoded(bytes);
  if (text === undefined) return { refused: rpcError(-32_700, "The message is not UTF-8.") };
  const read = parseStrict(text);
  if ("problem" in read) return { refused: rpcError(-32_700, read.problem, idIn(text)) };
  if (Array.isArray(read.value))
    return { refused: rpcError(-32_600, "Batches are not part of the protocol; send one message at a time.") };
  const message = withoutNullParams(read.value);
  const problem = paramsProblem(message);
  return problem === undefined ? { message } : { refused: rpcError(invalidParams, problem, idIn(text)) };
}

export const invalidParams = -32_602;

type MemberKind = "a text" | "an object";

/** The members of requests that this server reads. */
const members: Readonly<Record<string, Readonly<Record<string, MemberKind>>>> = {
  "tools/call": { name: "a text", arguments: "an object", task: "an object" },
  "tools/list": { cursor: "a text" },
  "resources/read": { uri: "a text" },
  "resources/list": { cursor: "a text" },
  "prompts/get": { name: "a text", arguments: "an object" },
  "tasks/get": { taskId: "a text" },
  "tasks/result": { taskId: "a text" },
  "tasks/update": { taskId: "a text", inputResponses: "an object" },
  "tasks/cancel": { taskId: "a text" },
  "completion/complete": { ref: "an object", argument: "an object", context: "an object" },
};

/** What is wrong with the parameters of a request, in a sentence: the SDK would answer with the JSON of its schema's issues. */
function paramsProblem(message: Json): string | undefined {
  const { method, params = {}, id } = isJsonObject(message) ? message : ({} as JsonObject);
  if (typeof method !== "string" || id === undefined || typeof params !== "object") return undefined;
  if (!isJsonObject(params)) return `\`params\` of \`${method}\` is ${shown(params)}; it must be an object.`;
  const read = Object.entries({ _meta: "an object", ...(Object.hasOwn(members, method) && members[method]) });
  const wrong = read.find(([name, kind]) => params[name] !== undefined && kindOf(params[name]) !== kind);
  if (wrong !== undefined)
    return `\`${wrong[0]}\` of \`${method}\` is ${shown(params[wrong[0]])}; it must be ${wrong[1]}.`;
  const needed = neededMember(method);
  if (needed === undefined || params[needed] !== undefined) return undefined;
  return `\`${method}\` needs \`${needed}\`, a text.`;
}

function neededMember(method: string): string | undefined {
  if (method === "resources/read") return "uri";
  if (method.startsWith("tasks/")) return Object.hasOwn(members, method) ? "taskId" : undefined;
  return method === "tools/call" || method === "prompts/get" ? "name" : undefined;
}

function kindOf(value: Json | undefined): MemberKind | undefined {
  if (typeof value === "string") return "a text";
  return isJsonObject(value ?? null) ? "an object" : undefined;
}

/** Null stands for an optional member that is left out. A tool's arguments stay as they are. */
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

/** Two open requests with one id would receive each other's answers. */
export function idUnderWay(id: string | number): RpcError {
  return rpcError(-32_600, "A request with this `id` is under way; give every request its own.", id);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined; // the decoder gives no reason
  }
}

/** A longer text was refused for its length. */
const longestToLookInto = 100_000;

/** The id of a refused message, if it can be read, so that its sender receives an answer. */
function idIn(text: string): RpcError["id"] {
  if (text.length > longestToLookInto) return null;
  try {
    const message = JSON.parse(text) as Json; // JSON.parse returns only JSON
    const id = isJsonObject(message) ? message["id"] : undefined;
    return (typeof id === "string" && id.isWellFormed()) || Number.isSafeInteger(id) ? (id as string | number) : null; // one of the two
  } catch {
    return null; // it is not JSON at all
  }
}
