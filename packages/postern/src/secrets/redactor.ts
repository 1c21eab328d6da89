import { RuntimeFault } from "@postern/core";
import { type Sign, signsIn, undoEscapes, undoQuotedPrintable } from "./escapes.ts";
import { deepestEscaping, merged, Needles, variantsOf } from "./needles.ts";
import { joinLines, type Rewritten, thenRewrite } from "./rewritten.ts";
import { fewestCharacters, isMaskable } from "./secret-name.ts";
import type { Redactor, TextSpan } from "./secret-store.ts";
import { byteReadings } from "./written-bytes.ts";

export const mask = "[redacted]";
/**
 * How much longer than the longest needle an encoded value can be: wrapped lines with indentation, escaped escapes, or a list
 * with one byte a line. The longest needle is UTF-16 in hex, four times the value.
 */
const reachTimes = 6;

/**
 * Masks known values only, also encoded (needles.ts), escaped (escapes.ts), wrapped (rewritten.ts) or written as single bytes
 * (written-bytes.ts). The second layer guesses unknown secrets.
 */
export function createRedactor(): Redactor {
  return new VariantRedactor();
}

class VariantRedactor implements Redactor {
  readonly #values = new Set<string>();
  /** Undefined without values, or when a value was added since. */
  #needles: Needles | undefined;
  /** Whether a value contains a character that begins an escape. */
  #mayHoldEscapes = false;

  learn(value: string): void {
    if (typeof value !== "string" || !isMaskable(value)) {
      throw new RuntimeFault(
        "request_invalid",
        `A secret has fewer than ${fewestCharacters} characters; masking it would eat ordinary text. Use a longer one.`,
      );
    }
    this.#remember(value);
    this.#remember(value.trim());
  }

  #remember(value: string): void {
    if (this.#values.has(value)) return;
    this.#values.add(value);
    this.#mayHoldEscapes ||= signsIn(value).length > 0;
    this.#needles = undefined;
  }

  get learned(): number {
    return this.#values.size;
  }

  get reach(): number {
    return reachTimes * (this.#ready()?.longest ?? 0);
  }

  redact(text: string): string {
    const spans = this.places(text);
    if (spans.length === 0) return text;
    let clean = "";
    let kept = 0;
    for (const { start, end } of spans) {
      clean += text.slice(kept, start) + mask;
      kept = end;
    }
    return clean + text.slice(kept);
  }

  finds(text: string): boolean {
    const needles = this.#ready();
    if (needles === undefined) return false;
    for (const reading of readings(text, this.#mayHoldEscapes))
      if (needles.next(reading.text, 0) !== undefined) return true;
    return false;
  }

  places(text: string): readonly TextSpan[] {
    const needles = this.#ready();
    if (needles === undefined) return [];
    const spans: TextSpan[] = [];
    for (const reading of readings(text, this.#mayHoldEscapes))
      for (const span of needles.spans(reading.text)) spans.push(reading.original(span));
    return merged(spans.sort((one, other) => one.start - other.start));
  }

  #ready(): Needles | undefined {
    if (this.#needles === undefined && this.#values.size > 0) {
      this.#needles = new Needles([...new Set([...this.#values].flatMap((value) => variantsOf(value)))]);
    }
    return this.#needles;
  }
}

/**
 * All readings of a text: unchanged, without wrapped lines, and with more and more levels of escapes decoded.
 *
 * @param mayHoldEscapes whether a value may contain what looks like an escape of another kind than the text's
 */
function* readings(text: string, mayHoldEscapes: boolean): Generator<Rewritten> {
  const whole = { text, original: (span: TextSpan) => span };
  yield* levels(whole);
  const joined = joinLines(text);
  if (joined !== undefined) yield* levels(joined); // a line may be wrapped within an escape
  const signs = mayHoldEscapes ? signsIn(text) : [];
  if (signs.length > 1) for (const sign of signs) yield* unescaped(whole, sign);
}

function* levels(first: Rewritten): Generator<Rewritten> {
  yield first;
  yield* asBytes(first);
  for (const reading of unescaped(first)) {
    yield reading;
    yield* asBytes(reading);
    const joined = thenRewrite(reading, joinLines);
    if (joined !== undefined) yield joined;
  }
}

function* asBytes(first: Rewritten): Generator<Rewritten> {
  for (const bytesIn of byteReadings) {
    const reading = thenRewrite(first, bytesIn);
    if (reading !== undefined) yield reading;
  }
  const mail = thenRewrite(first, undoQuotedPrintable);
  if (mail === undefined) return;
  yield mail;
  const page = thenRewrite(mail, (text) => undoEscapes(text, "&")); // mails are often HTML
  if (page !== undefined) yield page;
}

function* unescaped(first: Rewritten, only?: Sign): Generator<Rewritten> {
  let reading: Rewritten | undefined = first;
  for (let level = 0; level < deepestEscaping; level += 1) {
    reading = thenRewrite(reading, (text) => undoEscapes(text, only));
    if (reading === undefined) return;
    yield reading;
  }
}
