import { RuntimeFault } from "../calls/fault.ts";
import { joinLines } from "./joined-lines.ts";
import { merged, Needles, type Span } from "./needles.ts";
import { fewestCharacters, isMaskable } from "./secret-name.ts";
import type { Redactor } from "./secret-store.ts";
import { spellingsOf } from "./spellings.ts";

export const mask = "[redacted]";
/** A line of twelve characters or more, its break in any spelling and an indentation: so much longer is a value that is wrapped. */
const wrappedTimes = 4;

/**
 * Exact values only, in every spelling (spellings.ts), also when a wrapped line runs through them: that much can be
 * promised. Guessing what looks like a secret is another layer's work.
 */
export function createRedactor(): Redactor {
  return new SpellingRedactor();
}

class SpellingRedactor implements Redactor {
  readonly #values = new Set<string>();
  /** Undefined: no value, or one more since it was made. */
  #needles: Needles | undefined;

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
    this.#needles = undefined;
  }

  get reach(): number {
    return wrappedTimes * (this.#ready()?.longest ?? 0);
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
    if (needles.next(text, 0) !== undefined) return true;
    const joined = joinLines(text);
    return joined !== undefined && needles.next(joined.text, 0) !== undefined;
  }

  /** Where known values stand, in order and apart from each other. */
  #spansIn(text: string): readonly Span[] {
    const needles = this.#ready();
    if (needles === undefined) return [];
    const spans = needles.spans(text);
    const joined = joinLines(text);
    if (joined === undefined) return spans;
    const wrapped = needles.spans(joined.text).map((span) => joined.original(span));
    return merged([...spans, ...wrapped].sort((one, other) => one.start - other.start));
  }

  #ready(): Needles | undefined {
    if (this.#needles === undefined && this.#values.size > 0) {
      this.#needles = new Needles([...new Set([...this.#values].flatMap((value) => spellingsOf(value)))]);
    }
    return this.#needles;
  }
}
