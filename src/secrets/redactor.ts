import { RuntimeFault } from "../core/fault.ts";
import { type Sign, signsIn, undoEscapes } from "./escapes.ts";
import { deepestEscaping, merged, Needles, type TextSpan, variantsOf } from "./needles.ts";
import type { Rewritten } from "./rewritten.ts";
import { joinLines } from "./rewritten.ts";
import { fewestCharacters, isMaskable } from "./secret-name.ts";
import type { Redactor } from "./secret-store.ts";

export const mask = "[redacted]";
/**
 * How much longer than the longest needle an encoded value can be: wrapped lines with indentation, or escaped escapes.
 * The longest needle is UTF-16 in hex, four times the value.
 */
const reachTimes = 4;

/** Masks known values only, also encoded (needles.ts), escaped (escapes.ts) or wrapped (rewritten.ts). The second layer guesses unknown secrets. */
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
        "secret_too_short",
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

  get reach(): number {
    return reachTimes * (this.#ready()?.longest ?? 0);
  }

  redact(text: string): string {
    const spans = this.#spansIn(text);
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

  /** The places of known values, in order and not overlapping. */
  #spansIn(text: string): readonly TextSpan[] {
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
  for (const reading of unescaped(first)) {
    yield reading;
    const joined = thenRewrite(reading, joinLines);
    if (joined !== undefined) yield joined;
  }
}

function* unescaped(first: Rewritten, only?: Sign): Generator<Rewritten> {
  let reading: Rewritten | undefined = first;
  for (let level = 0; level < deepestEscaping; level += 1) {
    reading = thenRewrite(reading, (text) => undoEscapes(text, only));
    if (reading === undefined) return;
    yield reading;
  }
}

/** The reading of a reading, with both ways back. */
function thenRewrite(first: Rewritten, rewrite: (text: string) => Rewritten | undefined): Rewritten | undefined {
  const second = rewrite(first.text);
  return second && { text: second.text, original: (span) => first.original(second.original(span)) };
}
