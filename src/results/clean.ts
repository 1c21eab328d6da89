import type { Json } from "../calls/json.ts";
import { type ContentBlock, isPlainText, textOf } from "../calls/outcome.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import { foundInTurns, isLong, redactedInTurns } from "./in-turns.ts";
import type { RawResult } from "./raw-result.ts";

/** A result that is redacted and well-formed. */
export interface CleanResult {
  readonly content: readonly ContentBlock[];
  readonly text: string;
  readonly structured: CleanJson | undefined;
  readonly brief?: { readonly text: string; readonly structured: CleanJson };
}

/** A value with its JSON text, whose bytes are what it counts for. */
export interface CleanJson {
  readonly value: Json;
  readonly text: string;
}

export function cleanResult(raw: RawResult, redactor: Redactor): CleanResult {
  const content = raw.content.map((block) => cleanBlock(block, redactor));
  const structured = raw.structured === undefined ? undefined : cleanJson(raw.structured, redactor);
  const { brief } = raw;
  return { content, text: textOf(content), structured, ...cleanBrief(brief, redactor) };
}

function cleanBrief(brief: RawResult["brief"], redactor: Redactor): Pick<CleanResult, "brief"> {
  if (brief === undefined || brief === "whole") return {};
  return { brief: { text: cleanText(brief.text, redactor), structured: cleanJson(brief.structured, redactor) } };
}

/** As `cleanResult`, with turns for others. Where a long structured value holds a secret, it is made anew at once. */
export async function cleanInTurns(raw: RawResult, redactor: Redactor): Promise<CleanResult> {
  const { structured, structuredText: given, brief } = raw;
  const redacted = given === undefined ? undefined : await redactedInTurns(given, redactor);
  const isSame = structured !== undefined && given !== undefined && redacted === given && wellFormed(given) === given;
  const anew = (): CleanJson | undefined => (structured === undefined ? undefined : cleanJson(structured, redactor));
  const value = isSame ? { value: structured, text: given } : anew();
  const content: ContentBlock[] = [];
  for (const block of raw.content) {
    const isWhole = isSame && isPlainText(block) && block.text === given;
    content.push(isWhole ? block : await blockInTurns(block, redactor));
  }
  return { content, text: textOf(content), structured: value, ...cleanBrief(brief, redactor) };
}

async function blockInTurns(block: ContentBlock, redactor: Redactor): Promise<ContentBlock> {
  if (block.type === "text" && isLong(block.text)) {
    return {
      ...cleanFields({ ...block, text: "" }, redactor),
      text: sound(await redactedInTurns(block.text, redactor)),
    };
  }
  if (!("data" in block) || !isLong(block.data) || block.data === undefined) return cleanBlock(block, redactor);
  const { data } = block;
  const holds =
    (await foundInTurns(Buffer.from(data, "latin1"), redactor)) ||
    (await foundInTurns(Buffer.from(data, "base64"), redactor));
  return holds ? withheld(block.type) : cleanFields(block, redactor);
}

/** Redacted, and text that every store and every wire can carry: no half of a surrogate pair, no NUL. */
export function cleanText(text: string, redactor: Redactor): string {
  return sound(redactor.redact(text));
}

function sound(redacted: string): string {
  const whole = redacted.isWellFormed() ? redacted : redacted.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\uFFFD") : whole;
}

/**
 * Redacted as JSON text, so that a secret is found in keys and numbers and across them as well. The same value when
 * nothing was found.
 */
export function cleanJson(value: Json, redactor: Redactor): CleanJson {
  const given = JSON.stringify(value);
  const text = wellFormed(redactor.redact(given));
  if (text === given) return { value, text };
  const parsed = parse(text) ?? inParts(value, redactor);
  const spelled = wellFormed(JSON.stringify(parsed));
  if (redactor.finds(spelled)) return { value: "[redacted]", text: '"[redacted]"' };
  // Parsed again, because only the text was made well-formed. It is JSON: it was just written.
  return { value: JSON.parse(spelled) as Json, text: spelled };
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

/** As it travels, and as what it is: a file of text may hold an encoding of its own. */
function holdsSecret(base64: string, redactor: Redactor): boolean {
  return redactor.finds(base64) || redactor.finds(Buffer.from(base64, "base64").toString());
}

/** Everything but the bytes, which were looked through already and may be large. */
function cleanFields<Block extends ContentBlock>(block: Block, redactor: Redactor): Block {
  const cleaned = Object.entries(block).flatMap(([name, value]) => {
    const clean = cleanField(name, value, redactor);
    return typeof clean === typeof value ? [[name, clean]] : []; // notes in which nothing could be masked alone are left out
  });
  // The same names with the same kinds of values; `type` holds no secret.
  return Object.fromEntries(cleaned) as Block;
}

function cleanField(name: string, value: Json, redactor: Redactor): Json {
  if (name === "data") return value;
  return typeof value === "string" ? cleanText(value, redactor) : cleanJson(value, redactor).value;
}

/**
 * A lone surrogate or a NUL in JSON text is an escape: `JSON.stringify` writes it as one. Escaped backslashes are stepped
 * over in pairs.
 */
function wellFormed(json: string): string {
  if (!json.includes("\\ud") && !json.includes("\\u0000")) return json;
  return json.replace(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (written, name: string) =>
    name.length > 1 ? "\uFFFD" : written,
  );
}

/** Undefined when the mask broke the text: it stood in for a number or for half of an escape. */
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
