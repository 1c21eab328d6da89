import type { Json, JsonObject } from "@postern/core";
import type { UpstreamAnswer } from "../mcp/client/upstream.ts";
import { headOf } from "../results/cut.ts";
import { parseExactly } from "../tools/schema/exact-json.ts";
import type { ApiAnswer } from "./api-client.ts";

/** Of an answer that refuses; a page for people says nothing more after that. */
const mostRefusalCharacters = 8 * 1024;
/** A larger JSON answer stays text, because parsing it would stop every other call. */
const largeBytes = 1024 * 1024;
/** Headers that tell where to go on. */
const shownHeaders = ["location", "link", "retry-after"] as const;
/** The only answer of HEAD and OPTIONS. */
const factHeaders = ["content-type", "content-length", "last-modified", "etag", "allow"] as const;

/** @param body whole, as it was sent */
export function answerOf(
  { status, headers }: Pick<ApiAnswer, "status" | "headers">,
  body: Buffer,
  method: string,
): UpstreamAnswer {
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const notes = notesIn(headers, method === "HEAD" || method === "OPTIONS" ? factHeaders : []);
  if (status >= 300) {
    const redirect = status < 400 ? " It is a redirect, which is not followed." : "";
    const said = isText(type) ? headOf(textIn(body, headers), mostRefusalCharacters) : "";
    return texts([`HTTP ${status}.${redirect}`, ...notes, said], true);
  }
  if (body.length === 0) return texts([`HTTP ${status}, without content.`, ...notes], false);
  if (isJson(type) && body.length <= largeBytes) return jsonAnswer(body, notes);
  if (isText(type)) return texts([textIn(body, headers), ...notes], false);
  return { content: [mediaBlock(type, body), ...notes.map(textBlock)], isError: false };
}

function jsonAnswer(body: Buffer, notes: readonly string[]): UpstreamAnswer {
  const text = body.toString("utf8").replace(/^\uFEFF/, "");
  try {
    const { value, asText } = parseExactly(text);
    if (notes.length === 0) return { content: [], structured: value, isError: false, asText };
    return {
      content: [textBlock(JSON.stringify(value)), ...notes.map(textBlock)],
      structured: value,
      isError: false,
      asText,
    };
  } catch {
    return texts([text, ...notes], false); // it is not JSON, whatever its type says
  }
}

function mediaBlock(type: string, body: Buffer): JsonObject {
  const data = body.toString("base64");
  const [kind] = type.split("/");
  if (kind === "image" || kind === "audio") return { type: kind, mimeType: type, data };
  return {
    type: "resource",
    resource: { uri: "answer:body", mimeType: type || "application/octet-stream", blob: data },
  };
}

function notesIn(headers: Headers, more: readonly string[]): readonly string[] {
  return [...shownHeaders, ...more].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [`${name}: ${headOf(value, 2_000)}`];
  });
}

function texts(parts: readonly string[], isError: boolean): UpstreamAnswer {
  const [first = "", ...rest] = parts.filter((part) => part !== "");
  return { content: isError ? [textBlock([first, ...rest].join("\n"))] : [first, ...rest].map(textBlock), isError };
}

function textBlock(text: string): { readonly [name: string]: Json } {
  return { type: "text", text };
}

function isJson(type: string): boolean {
  return /[/+]json$/.test(type);
}

function isText(type: string): boolean {
  return (
    type === "" ||
    isJson(type) ||
    /^text\/|[/+](?:xml|yaml|javascript|x-ndjson|x-www-form-urlencoded|graphql)$/.test(type)
  );
}

/** In the charset that it names, if that is known. */
function textIn(body: Buffer, headers: Headers): string {
  const [, charset = "utf-8"] = /charset=["']?([\w-]+)/i.exec(headers.get("content-type") ?? "") ?? [];
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return body.toString("utf8"); // an unknown charset
  }
}
