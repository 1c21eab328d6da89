import type { JsonObject } from "@postern/core";

/** Masks known secrets. */
export type Redact = (text: string) => string;

const mark = "…";
const markBytes = 3;
/** A secret that was cut in two is not found, so far more is cleaned than is written. */
const cleanedCharacters = 65_536;

/**
 * The text without secrets and half surrogates, or its head with "…": at most `limitBytes` as JSON writes it in UTF-8,
 * cut between two code points. Every field of a line has such a limit, so a line has one.
 */
export function brief(text: string, limitBytes: number, redact: Redact): string {
  const whole = text.length <= cleanedCharacters;
  let clean = redact(whole ? text : text.slice(0, cleanedCharacters));
  if (!whole && clean.length < cleanedCharacters / 2) clean = redact(text); // masks drew the cut end near
  const head = clean.slice(0, limitBytes + 1).toWellFormed();
  if (head.length === clean.length && bytesOf(head) <= limitBytes) return head;
  let short = "";
  let room = limitBytes - markBytes;
  for (const character of head) {
    room -= bytesOf(character);
    if (room < 0) break;
    short += character;
  }
  return short + mark;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

/** The object, or how big it is and its beginning: lines hold no content. */
export function briefData(data: JsonObject, limitBytes: number, redact: Redact): JsonObject {
  const text = redact(JSON.stringify(data));
  const bytes = Buffer.byteLength(text);
  if (bytes <= limitBytes && !text.includes("\\ud")) {
    // half a surrogate pair is written so, and not everyone reads it
    const clean: JsonObject = JSON.parse(text); // the mask holds nothing that JSON would escape
    return clean;
  }
  return { cut: true, bytes, head: brief(text, limitBytes - 64, redact) };
}
