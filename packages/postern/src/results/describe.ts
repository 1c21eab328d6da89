import { counted, type Json } from "@postern/core";
import { cut, headOf } from "./cut.ts";
import { describeJson, isTable, parsedJson } from "./describe-json.ts";
import { describeTable, tableIn } from "./describe-table.ts";

/** UTF-8 bytes of the longest description. A record in `tools.jsonl` has one beside other fields. */
export const describedBytes = 480;

/**
 * Describes a result in one line for people, logs and models: a table by its columns and rows, a text by its beginning
 * and counts, JSON by its shape, bytes by type and size.
 * Contract: never throws, never more than `describedBytes`, no control characters, no half code points, and bounded
 * work even for a huge text.
 *
 * @param mediaType of a text or of bytes. A text of a binary type (`image/png`) is taken for base64
 *
 * @example
 * describeResult([{ id: 1, name: "Ann" }, { id: 2, name: "Bob" }]); // table, 2 columns (id, name), 2 rows
 *
 * @public
 */
export function describe(content: Json | Uint8Array, mediaType?: string): string {
  return line(described(content, mediaType));
}

function described(content: Json | Uint8Array, mediaType: string | undefined): string {
  if (content instanceof Uint8Array) return describedBytesOf(content, mediaType);
  if (typeof content !== "string") return isTable(content) ? describeTable(content) : describeJson(content);
  if (mediaType !== undefined && !isTextual(mediaType)) return describeMedia(mediaType, base64Bytes(content));
  const essence = essenceOf(mediaType);
  const table = tableIn(content, essence);
  if (table !== undefined) return describeTable(table);
  const value = essence === undefined || essence.endsWith("json") ? parsedJson(content) : undefined;
  if (value !== undefined) return described(value, undefined);
  return describeText(content, essence);
}

/** Bytes that are text are described as text. Only the first part is read. */
function describedBytesOf(bytes: Uint8Array, mediaType: string | undefined): string {
  if (mediaType === undefined || !isTextual(mediaType)) {
    return describeMedia(mediaType ?? "application/octet-stream", bytes.byteLength);
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, mostDecoded)).toString("utf8");
  return bytes.byteLength > mostDecoded
    ? `${sizeOf(bytes.byteLength)}, beginning with ${described(text, mediaType)}`
    : described(text, mediaType);
}

const mostDecoded = 4 * 1024 * 1024;

/** `image/png, 1.2 kB` */
export function describeMedia(mediaType: string, bytes: number | undefined, name?: string): string {
  const size = bytes === undefined ? "" : `, ${sizeOf(bytes)}`;
  return `${mediaType === "" ? "bytes" : mediaType}${size}${name === undefined ? "" : ` (${name})`}`;
}

/** The number of bytes that a base64 text encodes. */
export function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding);
}

function sizeOf(bytes: number): string {
  if (bytes < 1000) return counted(bytes, "byte");
  const units = ["kB", "MB", "GB", "TB"];
  let size = bytes / 1000;
  let unit = 0;
  while (size >= 999.95 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size.toFixed(1).replace(/\.0$/, "")} ${units[unit]}`;
}

/** Makes any text one well-formed line within the limit. */
export function line(text: string): string {
  return cut(
    headOf(text, 4 * describedBytes)
      .toWellFormed()
      .replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ")
      .trim(),
    describedBytes,
  );
}

function essenceOf(mediaType: string | undefined): string | undefined {
  return mediaType?.split(";", 1)[0]?.trim().toLowerCase();
}

function isTextual(mediaType: string): boolean {
  const essence = essenceOf(mediaType) ?? "";
  return (
    essence === "" ||
    essence.startsWith("text/") ||
    /^application\/(?:.+\+)?(?:json|xml|yaml|javascript|x-ndjson|toml|sql)$/.test(essence) ||
    essence === "image/svg+xml"
  );
}

/** Words after this many characters are not counted. */
const mostCounted = 256 * 1024;
const headBytes = 160;

/** A short text is its own description. A longer one is described by its beginning and its counts. */
function describeText(text: string, essence?: string): string {
  if (text === "") return "empty text";
  const bytes = Buffer.byteLength(text);
  const head = cut(
    headOf(text, 4 * headBytes)
      .replace(/\s+/g, " ")
      .trim(),
    headBytes,
  );
  if (bytes <= headBytes) return head === "" ? `text, ${bytes} bytes of white space` : head;
  const kind = essence === undefined || essence === "text/plain" ? "text" : essence;
  return `${kind}, ${lines(text)}, ${words(text)}, ${counted(bytes, "byte")}: ${head}`;
}

/** Lines beyond this are not counted. */
const mostLines = 100_000;

function lines(text: string): string {
  const count = linesIn(text);
  return count > mostLines ? `more than ${counted(mostLines, "line")}` : counted(count, "line");
}

/** A last line counts with and without its line break. */
function linesIn(text: string): number {
  let lines = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0 && lines <= mostLines; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** Counted in a loop, because a pattern over a large text is slow. */
function words(text: string): string {
  const end = Math.min(text.length, mostCounted);
  let count = 0;
  let inside = false;
  for (let at = 0; at < end; at += 1) {
    const isWord = !isSpace(text.charCodeAt(at));
    if (isWord && !inside) count += 1;
    inside = isWord;
  }
  return text.length > end ? `more than ${counted(count, "word")}` : counted(count, "word");
}

function isSpace(code: number): boolean {
  if (code <= 0x20) return true;
  if (code < 0xa0) return false;
  return code === 0xa0 || (code >= 0x2000 && code <= 0x200a) || code === 0x2028 || code === 0x2029 || code === 0x3000;
}
