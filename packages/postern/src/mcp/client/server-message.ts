import { isJsonObject, type Json, type JsonObject, messageOf } from "@postern/core";
import { hasLongNumber, parseExactly } from "../../tools/schema/exact-json.ts";
import { withoutNulls } from "../protocol/null-members.ts";

/** One message of a server, read leniently: the SDK would refuse some messages for their form alone. */
export type ServerMessage =
  | {
      readonly kind: "message";
      /** An error may lack its id: the server could not read the request. */
      readonly message: JsonObject;
      /** Members whose numbers became texts, because a double cannot hold them. */
      readonly asText: readonly string[];
      /** The message is what the text says, unchanged. */
      readonly asSent: boolean;
    }
  | {
      readonly kind: "unreadable";
      /** The request that it answers, if that can be told. */
      readonly id: number | string | undefined;
      /** The end of a sentence that begins with "its answer". */
      readonly why: string;
    };

/** @param text one JSON text; any other text gives no message */
export function readServerMessage(text: string): readonly ServerMessage[] {
  const json = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (!/^\s*[[{]/.test(json)) return [];
  let value: Json;
  try {
    value = JSON.parse(json) as Json; // JSON.parse returns only JSON
  } catch (error) {
    return unparsed(json, error);
  }
  if (!hasLongNumber(json) || isList(value)) return messagesIn(value, []);
  const exact = parseExactly(json);
  return messagesIn(exact.value, exact.asText);
}

/** A list of tools holds schemas, whose bounds may be rounded but must stay numbers. */
function isList(value: Json): boolean {
  return isJsonObject(value) && isJsonObject(value["result"]) && Array.isArray(value["result"]["tools"]);
}

function messagesIn(value: Json, asText: readonly string[]): readonly ServerMessage[] {
  if (Array.isArray(value)) {
    const inner = asText.map((place) => place.replace(/^\[\]\.?/, ""));
    return (value as readonly Json[]).flatMap((one) => messagesIn(one, inner)).map(changed); // a batch, as 2025-03-26 has it
  }
  if (!isJsonObject(value)) return [];
  if (isAnswer(value)) return [answerOf(value, asText)];
  const { jsonrpc, method, id, params } = value;
  if (jsonrpc !== "2.0") return [];
  if (typeof method !== "string")
    return id === undefined ? [] : [{ kind: "unreadable", id: idOf(id), why: "has neither `result` nor `error`" }];
  if (params === undefined) return [{ kind: "message", message: value, asText, asSent: true }];
  if (params === null) return [{ kind: "message", message: withoutNulls(value), asText, asSent: false }];
  if (!isJsonObject(params)) return [];
  const read = withoutNulls(params);
  return [{ kind: "message", message: { ...value, params: read }, asText, asSent: read === params }];
}

function changed(message: ServerMessage): ServerMessage {
  return message.kind === "message" ? { ...message, asSent: false } : message;
}

const envelope = new Set(["jsonrpc", "id", "result", "error"]);

/** Many servers log JSON lines, some with an `error`. Without `jsonrpc`, an answer has no member of another name. */
function isAnswer(value: JsonObject): boolean {
  if (value["result"] === undefined && value["error"] === undefined) return false;
  return (
    value["jsonrpc"] === "2.0" || (value["id"] !== undefined && Object.keys(value).every((name) => envelope.has(name)))
  );
}

function answerOf(value: JsonObject, asText: readonly string[]): ServerMessage {
  const { jsonrpc, result, error } = value;
  const id = idOf(value["id"]);
  const unreadable = (why: string): ServerMessage => ({ kind: "unreadable", id, why });
  if (jsonrpc !== "2.0")
    return unreadable(jsonrpc === undefined ? "has no `jsonrpc`" : `has \`jsonrpc\`: ${brief(jsonrpc)}`);
  const refusal = error !== undefined && error !== null;
  if (id === undefined && !(refusal && (value["id"] ?? null) === null))
    return unreadable(`has the \`id\` ${brief(value["id"] ?? null)}`);
  const isExact = asText.length === 0 && Object.keys(value).every((name) => envelope.has(name)) && id === value["id"];
  if (refusal) {
    const read = errorOf(error);
    const message = { jsonrpc, ...(id !== undefined && { id }), error: read };
    return { kind: "message", message, asText, asSent: isExact && id !== undefined && read === error };
  }
  if (!isJsonObject(result ?? null)) return unreadable(`has the \`result\` ${brief(result ?? null)}`);
  const read = resultOf(result as JsonObject); // checked
  const message = { jsonrpc, ...(id !== undefined && { id }), result: read };
  return { kind: "message", message, asText, asSent: isExact && read === result && error === undefined };
}

/** A malformed id may still tell which request is answered. */
function idOf(id: Json | undefined): number | string | undefined {
  if (Array.isArray(id) && id.length === 1) return idOf(id[0] as Json);
  return typeof id === "number" || typeof id === "string" ? id : undefined;
}

/** The server's refusal in the form of the protocol. */
export function errorOf(error: Json): JsonObject {
  if (!isJsonObject(error))
    return { code: -32_000, message: typeof error === "string" ? error : `the server gave the error ${brief(error)}` };
  const { code, message, data } = error;
  if (Number.isSafeInteger(code) && typeof message === "string" && data !== null) return error;
  return {
    code: Number.isSafeInteger(Number(code)) && code !== null ? Number(code) : -32_000,
    message:
      typeof message === "string" ? message : `the server gave an error without a text (code ${brief(code ?? null)})`,
    ...(data !== undefined && data !== null && { data }),
  };
}

/**
 * Null stands for an optional member that is left out, in the members that the protocol defines. A tool's own data
 * (`structuredContent`) stays as it is.
 */
function resultOf(result: JsonObject): JsonObject {
  if (isJsonObject(result["capabilities"])) return withoutNulls(result, Number.POSITIVE_INFINITY);
  const plain = withoutNulls(result);
  const content = withoutNulls(plain["content"] ?? null, 2);
  return content === null || content === plain["content"] ? plain : { ...plain, content };
}

/** A text that is no JSON. It ends the call that it answers; if it is no answer, it is ignored. */
function unparsed(text: string, error: unknown): readonly ServerMessage[] {
  const edge = 4_096;
  const [begin, end] = [text.slice(0, edge), text.slice(-edge)];
  const id = answeredIn(begin, end);
  const isAnswerLike = /["']jsonrpc["']\s*:/.test(begin + end) && /["'](?:result|error)["']\s*:/.test(text);
  if (id === undefined && !isAnswerLike) return [];
  const [, word] = /[:,[]\s*(-?(?:NaN|Infinity))\b/.exec(text) ?? [];
  const what = word === undefined ? messageOf(error) : `it holds \`${word}\`, which JSON does not have`;
  return [{ kind: "unreadable", id, why: `is no JSON: ${what}` }];
}

/** A member of an object, with a value that is no object and no array. */
export const scalarMember: string = String.raw`"[^"\\]*"\s*:\s*(?:"[^"\\]*"|-?[\d.eE+-]+|true|false|null)`;
/** The beginning of an answer: the first member that is no scalar is a result or an error. */
const answerBegins = new RegExp(String.raw`^\s*\{((?:\s*${scalarMember}\s*,)*)\s*"(?:result|error)"\s*:`);
/** The last members of the message itself. A text inside the result cannot look like this, because its quotes are escaped. */
const answerEnds = /[}\]"\w]\s*,((?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+)\s*,?)+)\s*\}\s*$/;
const idMember = /"id"\s*:\s*(?:"(\d{1,15})"|(\d{1,15}))(?!\d)/;

/** The request that a text answers which cannot be parsed, found in the two ends of the text. */
export function answeredIn(begin: string, end: string): number | undefined {
  const opened = answerBegins.exec(begin);
  if (opened === null) return undefined;
  const found = idMember.exec(opened[1] ?? "") ?? idMember.exec(answerEnds.exec(end)?.[1] ?? "");
  const id = found?.[1] ?? found?.[2];
  return id === undefined ? undefined : Number(id);
}

function brief(value: Json): string {
  const text = JSON.stringify(value);
  return `\`${text.length > 60 ? `${text.slice(0, 60)}…` : text}\``;
}
