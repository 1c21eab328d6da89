import { RuntimeFault } from "../core/fault.ts";
import { type Sign, signsIn, undoEscapes } from "./escapes.ts";
import { deepestEscaping, merged, Needles, type TextSpan, variantsOf } from "./needles.ts";
import type { Rewritten } from "./rewritten.ts";
import { joinLines } from "./rewritten.ts";
import { fewestCharacters, isMaskable } from "./secret-name.ts";
import type { Redactor } from "./secret-store.ts";

export const mask = "[redacted]";
/**
 * How much longer than the longest needle (UTF-16 in hex: four times the value) a value can be: wrapped lines with their
 * indentation, or escapes of escapes.
 */
const reachTimes = 4;

/**
 * Exact values only, also encoded (needles.ts), escaped (escapes.ts) or wrapped (rewritten.ts). Guessing what looks
 * like a secret is the second layer's work.
 */
export function createRedactor(): Redactor {
  return new VariantRedactor();
}

class VariantRedactor implements Redactor {
  readonly #values = new Set<string>();
  /** Undefined: no value, or one more since it was made. */
  #needles: Needles | undefined;
  /** Whether a value holds a sign that escapes begin with. */
  #areSigned = false;

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
    this.#areSigned ||= signsIn(value).length > 0;
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
    for (const reading of readings(text, this.#areSigned)) if (needles.next(reading.text, 0) !== undefined) return true;
    return false;
  }

  /** Where known values stand, in order and apart from each other. */
  #spansIn(text: string): readonly TextSpan[] {
    const needles = this.#ready();
    if (needles === undefined) return [];
    const spans: TextSpan[] = [];
    for (const reading of readings(text, this.#areSigned))
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
 * All texts that a text can be read as: as it is, without wrapped lines, and with ever more levels of escaping undone.
 *
 * @param areSigned whether a value may hold what looks like an escape of another kind than the text uses
 */
function* readings(text: string, areSigned: boolean): Generator<Rewritten> {
  const whole = { text, original: (span: TextSpan) => span };
  yield* levels(whole);
  const joined = joinLines(text);
  if (joined !== undefined) yield* levels(joined); // a line may have been wrapped within an escape
  const signs = areSigned ? signsIn(text) : [];
  if (signs.length > 1) for (const sign of signs) yield* unescaped(whole, sign);
}

function* levels(first: Rewritten): Generator<Rewritten> {
  yield first;
  for (const reading of unescaped(first)) {
    yield reading;
    const joined = then(reading, joinLines);
    if (joined !== undefined) yield joined;
  }
}

function* unescaped(first: Rewritten, only?: Sign): Generator<Rewritten> {
  let reading: Rewritten | undefined = first;
  for (let level = 0; level < deepestEscaping; level += 1) {
    reading = then(reading, (text) => undoEscapes(text, only));
    if (reading === undefined) return;
    yield reading;
  }
}

/** One reading of another. */
function then(first: Rewritten, rewrite: (text: string) => Rewritten | undefined): Rewritten | undefined {
  const second = rewrite(first.text);
  return second && { text: second.text, original: (span) => first.original(second.original(span)) };
}
