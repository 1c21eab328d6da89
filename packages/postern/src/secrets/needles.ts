import { undoEscapes } from "./escapes.ts";
import { fewestCharacters } from "./secret-name.ts";
import type { TextSpan } from "./secret-store.ts";

/** How many characters together decide the next jump of the search. */
const blockCharacters = 3;
const tableBits = 16;

/**
 * Finds any of many texts in one pass (Wu and Manber). For each three characters, a table has the distance to the next
 * possible end of a match, so most of the text is skipped, and more needles add little cost.
 */
export class Needles {
  /** Length of the longest, in characters. */
  readonly longest: number;
  readonly #window: number;
  readonly #jumps: Uint8Array = new Uint8Array(1 << tableBits);
  readonly #ending = new Map<number, string[]>();

  /** @param texts at least one, each at least three characters long */
  constructor(texts: readonly string[]) {
    const lengths = texts.map(({ length }) => length);
    this.#window = lengths.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
    this.longest = lengths.reduce((one, other) => Math.max(one, other), 0);
    this.#jumps.fill(Math.min(255, this.#window - blockCharacters + 1));
    for (const text of texts) this.#add(text);
    for (const texts of this.#ending.values()) texts.sort((one, other) => other.length - one.length);
  }

  #add(text: string): void {
    for (let end = blockCharacters; end <= this.#window; end += 1) {
      const at = slotOf(text, end);
      const jump = Math.min(255, this.#window - end);
      if (jump < (this.#jumps[at] ?? 0)) this.#jumps[at] = jump;
      if (jump !== 0) continue;
      const ending = this.#ending.get(at);
      if (ending === undefined) this.#ending.set(at, [text]);
      else ending.push(text);
    }
  }

  /** The next match that begins at `from` or later. Of several at one position, the longest. */
  next(text: string, from: number): TextSpan | undefined {
    let end = from + this.#window;
    while (end <= text.length) {
      const at = slotOf(text, end);
      const jump = this.#jumps[at] ?? 0;
      if (jump > 0) {
        end += jump;
        continue;
      }
      const start = end - this.#window;
      for (const needle of this.#ending.get(at) ?? []) {
        if (text.startsWith(needle, start)) return { start, end: start + needle.length };
      }
      end += 1;
    }
    return undefined;
  }

  /** All matches in order. Those that overlap or touch are joined. */
  spans(text: string): TextSpan[] {
    const spans: TextSpan[] = [];
    for (let found = this.next(text, 0); found !== undefined; found = this.next(text, found.start + 1))
      spans.push(found);
    return merged(spans);
  }
}

/** Joins spans that overlap or touch. The given spans are ordered by their start. */
export function merged(spans: readonly TextSpan[]): TextSpan[] {
  const whole: TextSpan[] = [];
  for (const span of spans) {
    const last = whole.at(-1);
    if (last === undefined || span.start > last.end) whole.push(span);
    else if (span.end > last.end) whole[whole.length - 1] = { start: last.start, end: span.end };
  }
  return whole;
}

function slotOf(text: string, end: number): number {
  const mixed = (text.charCodeAt(end - 3) << 12) ^ (text.charCodeAt(end - 2) << 6) ^ text.charCodeAt(end - 1);
  return (mixed ^ (mixed >>> tableBits)) & ((1 << tableBits) - 1);
}

/** How many levels of escaping are decoded: JSON in JSON in JSON, made of an HTML page with addresses in it. */
export const deepestEscaping = 6;

/**
 * The texts that are searched to find a value: the value, its hex, and its base64, which differs at each of the three
 * offsets; the last two also of its UTF-16.
 * Escapes and wrapped lines are not here: the redactor searches the text again without them.
 */
export function variantsOf(value: string): readonly string[] {
  const lines = value.replace(/\r?\n/g, "\r\n"); // several lines may be sent with the other system's line ends
  return [...new Set([value, lines, value.toWellFormed()].flatMap((text) => [...unescaped(text), ...encoded(text)]))];
}

/** A value that contains an escape looks different in a text whose escapes were decoded. */
function unescaped(value: string): readonly string[] {
  const levels = [value];
  for (let text = undoEscapes(value)?.text; text !== undefined; text = undoEscapes(text)?.text) {
    if (text.length < fewestCharacters || levels.length > deepestEscaping) break;
    levels.push(text);
  }
  return levels.flatMap((text) => [
    text,
    text.replaceAll(" ", "+"), // forms
    text.replaceAll('"', '""'), // CSV
    text.replaceAll("'", "''"), // SQL and YAML
  ]);
}

function encoded(value: string): readonly string[] {
  return [...asBytes(Buffer.from(value)), ...utf16Variants(value)];
}

/** UTF-16 as bytes, as in PowerShell's `-EncodedCommand` and in registry dumps. Latin text without its last byte is the same in both byte orders. */
function utf16Variants(value: string): readonly string[] {
  const bytes = Buffer.from(value, "utf16le");
  const isLatin = bytes.every((byte, i) => i % 2 === 0 || byte === 0);
  const orders = isLatin ? [bytes.subarray(0, -1)] : [bytes, Buffer.from(bytes).swap16()];
  return orders.flatMap((order) => [order.toString("latin1"), ...asBytes(order)]);
}

function asBytes(bytes: Buffer): readonly string[] {
  const hex = bytes.toString("hex");
  const base64 = base64At(bytes);
  return [hex, hex.toUpperCase(), ...base64, ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"))];
}

/** The base64 characters that encode only bits of the value. Characters that share bits with a neighbour are left out. */
function base64At(bytes: Buffer): readonly string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
}
