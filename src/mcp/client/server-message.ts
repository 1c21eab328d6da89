import { messageOf } from "../../core/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { hasLongNumber, parseExactly } from "../../tools/schema/exact-json.ts";
import { answeredIn } from "./answered-in.ts";

/** What a server sent, read leniently: what it means is clear, and the SDK refuses it only for its form. */
export type ServerMessage =
  | {
      readonly kind: "message";
      /** An error may lack its id: the server could not read the request. */
      readonly message: JsonObject;
      /** Members whose numbers are texts here, because a double cannot hold them. */
      readonly asText: readonly string[];
      /** The text says the same: nothing was changed. */
      readonly asSent: boolean;
    }
  | {
      readonly kind: "unreadable";
      /** Whose answer it is, when it says so. */
      readonly id: number | string | undefined;
      /** What is wrong with it, as the end of a sentence that begins with "its answer". */
      readonly why: string;
    };

/** @param text one JSON text; other text is nothing */
export function readServerMessage(text: string): readonly ServerMessage[] {
  const json = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (!/^\s*[[{]/.test(json)) return [];
  let value: Json;
  try {
    value = JSON.parse(json) as Json; // it makes nothing but JSON
  } catch (error) {
    return unparsed(json, error);
  }
  if (!hasLongNumber(json) || isList(value)) return messagesIn(value, []);
  const exact = parseExactly(json);
  return messagesIn(exact.value, exact.asText);
}

/** A list of tools holds schemas: a text would be no bound there, and a rounded one is. */
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
  if (params === undefined || isJsonObject(params)) return [{ kind: "message", message: value, asText, asSent: true }];
  const { params: _, ...message } = value;
  return params === null ? [{ kind: "message", message, asText, asSent: false }] : [];
}

function changed(message: ServerMessage): ServerMessage {
  return message.kind === "message" ? { ...message, asSent: false } : message;
}

const envelope = new Set(["jsonrpc", "id", "result", "error"]);

/** Many servers log JSON lines, some with an `error`: without `jsonrpc` only what has nothing else is an answer. */
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

/** An id that is no id may still say whose answer it is. */
function idOf(id: Json | undefined): number | string | undefined {
  if (Array.isArray(id) && id.length === 1) return idOf(id[0] as Json);
  return typeof id === "number" || typeof id === "string" ? id : undefined;
}

/** The server refused, however it says so. */
function errorOf(error: Json): JsonObject {
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

/** `null` for an optional member is absence. The answer to `initialize` has optional members within its members. */
function resultOf(result: JsonObject): JsonObject {
  if (isJsonObject(result["capabilities"])) return withoutNulls(result, 4);
  const plain = withoutNulls(result, 0);
  const { content } = plain;
  if (!Array.isArray(content)) return plain;
  const blocks = content.map((block: Json) => (isJsonObject(block) ? withoutNulls(block, 1) : block));
  return blocks.every((block, at) => block === content[at]) ? plain : { ...plain, content: blocks };
}

/** The object itself where there is nothing to leave out. */
function withoutNulls(object: JsonObject, levels: number): JsonObject {
  let isSame = true;
  const members = Object.entries(object).flatMap(([name, value]): [string, Json][] => {
    const read = levels > 0 && isJsonObject(value) ? withoutNulls(value, levels - 1) : value;
    if (read !== value || value === null) isSame = false;
    return read === null || read === undefined ? [] : [[name, read]];
  });
  return isSame ? object : Object.fromEntries(members);
}

/** A line that is no JSON. It ends somebody's call when it is meant as an answer, and is noise else. */
function unparsed(text: string, error: unknown): readonly ServerMessage[] {
  const edge = 4_096;
  const id = answeredIn(text.slice(0, edge), text.slice(-edge));
  const isMeant =
    id !== undefined ||
    (/["']jsonrpc["']\s*:/.test(text.slice(0, edge) + text.slice(-edge)) && /["'](?:result|error)["']\s*:/.test(text));
  if (!isMeant) return [];
  const [, word] = /[:,[]\s*(-?(?:NaN|Infinity))\b/.exec(text) ?? [];
  const what = word === undefined ? messageOf(error) : `it holds \`${word}\`, which JSON does not have`;
  return [{ kind: "unreadable", id, why: `is no JSON: ${what}` }];
}

function brief(value: Json): string {
  const text = JSON.stringify(value);
  return `\`${text.length > 60 ? `${text.slice(0, 60)}…` : text}\``;
}
