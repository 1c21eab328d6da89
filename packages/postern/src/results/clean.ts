import { type ContentBlock, isJsonObject, type Json, type JsonObject, textOf } from "@postern/core";
import type { Redactor, TextSpan } from "../secrets/secret-store.ts";
import type { LargeJson } from "./large-json.ts";
import type { RawResult, ReadOn } from "./raw-result.ts";
import { findsIn, pieceBytes } from "./streams.ts";

/** A result that is redacted and well-formed. */
export interface CleanResult {
  readonly content: readonly ContentBlock[];
  readonly text: string;
  readonly structured: CleanJson | undefined;
  readonly meta?: JsonObject;
  readonly brief?: { readonly text: string; readonly structured: CleanJson };
  readonly readOn?: ReadOn;
}

/** A value with its JSON text. The bytes of the text count towards limits. */
export interface CleanJson {
  readonly value: Json;
  readonly text: string;
}

export function cleanResult(raw: RawResult, redactor: Redactor): CleanResult {
  const content = maskedAcross(raw.content, redactor).map((block) => cleanBlock(block, redactor));
  const structured = raw.structured === undefined ? undefined : cleanJson(raw.structured, redactor);
  const meta = cleanMeta(raw.meta, redactor);
  if (raw.large !== undefined)
    return { content, text: textOf(content), structured: cleanLarge(raw.large, redactor), ...meta };
  const { brief, readOn } = raw;
  return {
    ...{ content, text: textOf(content), structured },
    ...meta,
    ...cleanBrief(brief, redactor),
    ...(readOn !== undefined && { readOn }),
  };
}

/** A part of a block's text. */
interface BorderPart {
  /** The block's place in the content. */
  readonly at: number;
  /** Where the part begins in the block's text. */
  readonly from: number;
  readonly text: string;
}

/**
 * Masks values that are split over neighbouring texts. They are read with nothing between them, and as the result's text is,
 * with line breaks.
 */
function maskedAcross(content: readonly ContentBlock[], redactor: Redactor): readonly ContentBlock[] {
  const texts = content.flatMap((block, at) =>
    "text" in block && block.text !== undefined ? [{ at, from: 0, text: block.text }] : [],
  );
  if (texts.length < 2 || redactor.places === undefined) return content;
  const found = new Map<number, TextSpan[]>();
  for (const parts of borders(texts, redactor.reach ?? Number.POSITIVE_INFINITY))
    for (const between of ["", "\n"]) {
      const places = redactor.places(parts.map(({ text }) => text).join(between));
      for (const { at, span } of splitPlaces(parts, places, between)) found.set(at, [...(found.get(at) ?? []), span]);
    }
  return content.map((block, at) => {
    const spans = found.get(at);
    if (spans === undefined || !("text" in block) || block.text === undefined) return block;
    return { ...block, text: masked(block.text, spans) };
  });
}

/** Around each border as much as a value can reach: from the end of one long text to the beginning of the next. */
function* borders(texts: readonly BorderPart[], reach: number): Generator<readonly BorderPart[]> {
  let parts: BorderPart[] = [];
  for (const { at, text } of texts) {
    const isLong = text.length > reach;
    parts.push({ at, from: 0, text: isLong ? text.slice(0, reach) : text });
    if (!isLong) continue;
    if (parts.length > 1) yield parts;
    parts = [{ at, from: text.length - reach, text: text.slice(text.length - reach) }];
  }
  if (parts.length > 1) yield parts;
}

/** The places that lie in two or more blocks, by block. */
function splitPlaces(
  parts: readonly BorderPart[],
  places: readonly TextSpan[],
  between: string,
): readonly { readonly at: number; readonly span: TextSpan }[] {
  let next = 0;
  const starts = parts.map(({ text }) => {
    const start = next;
    next += text.length + between.length;
    return start;
  });
  return places.flatMap((place) => {
    const shares = parts.flatMap(({ at, from, text }, i) => {
      const offset = starts[i] ?? 0;
      const start = Math.max(place.start - offset, 0);
      const end = Math.min(place.end - offset, text.length);
      return start < end ? [{ at, span: { start: start + from, end: end + from } }] : [];
    });
    return shares.length > 1 ? shares : [];
  });
}

function masked(text: string, spans: readonly TextSpan[]): string {
  let clean = "";
  let done = 0;
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    if (start >= done) clean += `${text.slice(done, start)}[redacted]`;
    done = Math.max(done, end);
  }
  return clean + text.slice(done);
}

function cleanLarge(large: LargeJson, redactor: Redactor): CleanJson {
  return redactor.redact(large.text) === large.text ? large : cleanJson(large.value, redactor);
}

/** Left out when only masking it whole is possible. */
function cleanMeta(meta: JsonObject | undefined, redactor: Redactor): Pick<CleanResult, "meta"> {
  const clean = meta && cleanJson(meta, redactor).value;
  return isJsonObject(clean) ? { meta: clean } : {};
}

function cleanBrief(brief: RawResult["brief"], redactor: Redactor): Pick<CleanResult, "brief"> {
  if (brief === undefined || brief === "whole") return {};
  return { brief: { text: cleanText(brief.text, redactor), structured: cleanJson(brief.structured, redactor) } };
}

/** As `cleanResult`, but reads long texts piece by piece, so that other calls continue. */
export async function cleanLongResult(raw: RawResult, redactor: Redactor): Promise<CleanResult> {
  const clean: string[] = [];
  for (const text of longTextsIn(raw)) if (await isCleanText(text, redactor)) clean.push(text);
  return cleanResult(raw, {
    learn: (value) => redactor.learn(value),
    ...(redactor.places !== undefined && { places: (text) => redactor.places?.(text) ?? [] }),
    ...(redactor.reach !== undefined && { reach: redactor.reach }),
    redact: (text) => (clean.includes(text) ? text : redactor.redact(text)),
    finds: (text) => !clean.includes(text) && redactor.finds(text),
  });
}

/** Whether a result has a text that is long to search. */
export function isLongResult(raw: RawResult): boolean {
  return !longTextsIn(raw).next().done;
}

function* longTextsIn({ content, large }: RawResult): Generator<string, void> {
  if (large !== undefined) yield large.text;
  for (const block of content) {
    if ("text" in block && isLong(block.text)) yield block.text;
    if (!("data" in block) || !isLong(block.data)) continue;
    yield block.data;
    yield Buffer.from(block.data, "base64").toString();
  }
}

function isLong(text: string | undefined): text is string {
  return text !== undefined && text.length > 2 * pieceBytes;
}

/** A redactor that also searches for patterns masks the whole text. */
async function isCleanText(text: string, redactor: Redactor): Promise<boolean> {
  return redactor.reach !== undefined && !(await findsIn(text, redactor));
}

/** The redacted text in a form that every store and wire can carry: without halves of surrogate pairs and NUL. */
export function cleanText(text: string, redactor: Redactor): string {
  return sound(redactor.redact(text));
}

function sound(redacted: string): string {
  const whole = redacted.isWellFormed() ? redacted : redacted.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\uFFFD") : whole;
}

/** Redacts the JSON text, so that a secret is also found in keys, in numbers and across them. Returns the same value when nothing was found. */
export function cleanJson(value: Json, redactor: Redactor): CleanJson {
  const given = JSON.stringify(value);
  const text = wellFormedJson(redactor.redact(given));
  if (text === given) return { value, text };
  const parsed = parse(text) ?? inParts(value, redactor);
  const json = wellFormedJson(JSON.stringify(parsed));
  if (redactor.finds(json)) return { value: "[redacted]", text: '"[redacted]"' };
  // Parsed again, because only the text was made well-formed. The text was written as JSON above.
  return { value: JSON.parse(json) as Json, text: json };
}

function cleanBlock(block: ContentBlock, redactor: Redactor): ContentBlock {
  switch (block.type) {
    case "text":
    case "link":
    case "resource":
    case "image":
    case "audio":
    case "file":
      if ("data" in block && block.data !== undefined && holdsSecret(block.data, redactor)) {
        return withheld(block.type);
      }
      return cleanFields(block, redactor);
    default:
      return block satisfies never;
  }
}

function withheld(type: ContentBlock["type"]): ContentBlock {
  return { type: "text", text: `[redacted: this ${type} held a secret]` };
}

/** Searches the base64 text, and the bytes as text: a text file may contain encoded secrets itself. */
function holdsSecret(base64: string, redactor: Redactor): boolean {
  return redactor.finds(base64) || redactor.finds(Buffer.from(base64, "base64").toString());
}

/** All fields except the bytes, which were searched already and may be large. */
function cleanFields<Block extends ContentBlock>(block: Block, redactor: Redactor): Block {
  const cleaned = Object.entries(block).flatMap(([name, value]) => {
    const clean = cleanField(name, value, redactor);
    return typeof clean === typeof value ? [[name, clean]] : []; // a field is left out when only masking it whole is possible
  });
  // The same names with the same kinds of values; `type` contains no secret.
  return Object.fromEntries(cleaned) as Block;
}

function cleanField(name: string, value: Json, redactor: Redactor): Json {
  if (name === "data") return value;
  return typeof value === "string" ? cleanText(value, redactor) : cleanJson(value, redactor).value;
}

/** `JSON.stringify` writes a lone surrogate or a NUL as an escape. Escaped backslashes are skipped in pairs. */
export function wellFormedJson(json: string): string {
  if (!json.includes("\\ud") && !json.includes("\\u0000")) return json;
  return json.replace(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (written, name: string) =>
    name.length > 1 ? "\uFFFD" : written,
  );
}

/** Returns undefined when masking broke the JSON: the mask replaced a number or half of an escape. */
function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined; // the value is masked part by part instead
  }
}

function inParts(value: Json, redactor: Redactor): Json {
  if (typeof value === "string") return redactor.redact(value);
  if (typeof value !== "object" || value === null) {
    const text = String(value);
    const redacted = redactor.redact(text);
    return redacted === text ? value : redacted;
  }
  if (Array.isArray(value)) return value.map((inner: Json) => inParts(inner, redactor));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redactor.redact(name), inParts(inner, redactor)]),
  );
}
