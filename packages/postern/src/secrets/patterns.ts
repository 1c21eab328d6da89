import { loadRules, type PatternRule, type Suspect } from "./pattern-rules.ts";
import type { Redactor } from "./secret-store.ts";

/**
 * The second layer: finds text that looks like a secret and is not a known one. It guesses; only the redactor is exact.
 */
export interface SecretPatterns {
  /** In order and not overlapping. */
  suspects(text: string): readonly Suspect[];
  /** The text with each suspect replaced by `[possible secret: github token]`. The same string when there are none. */
  mask(text: string): string;
}

/** The longest match of any rule fits twice into the overlap of two pieces. */
const pieceCharacters = 24_000;
const sharedCharacters = 12_000;
/** The cost of a text grows with its keywords. A text with more of them is searched only in part. */
const mostKeywords = 2_000;

/** Loads the rules of secretlint. */
export async function loadPatterns(): Promise<SecretPatterns> {
  return new RulePatterns(await loadRules());
}

/** Masks known secrets and suspects. `finds` stays exact, because a guess must not refuse a call. */
export function guessingRedactor(exact: Redactor, patterns: SecretPatterns): Redactor {
  return {
    learn: (value) => exact.learn(value),
    finds: (text) => exact.finds(text),
    ...(exact.places !== undefined && { places: (text) => exact.places?.(text) ?? [] }),
    redact: (text) => patterns.mask(exact.redact(text)),
  };
}

export function suspectMark(kind: string): string {
  return `[possible secret: ${kind}]`;
}

class RulePatterns implements SecretPatterns {
  readonly #rules: readonly PatternRule[];
  /** Any keyword. */
  readonly #keywords: RegExp;

  constructor(rules: readonly PatternRule[]) {
    this.#rules = rules;
    // One alternation is fastest.
    this.#keywords = new RegExp(rules.flatMap(({ keywords }) => keywords.map(escaped)).join("|"), "g");
  }

  mask(text: string): string {
    const suspects = this.suspects(text);
    if (suspects.length === 0) return text;
    let clean = "";
    let kept = 0;
    for (const { kind, start, end } of suspects) {
      clean += text.slice(kept, start) + suspectMark(kind);
      kept = end;
    }
    return clean + text.slice(kept);
  }

  suspects(text: string): readonly Suspect[] {
    if (text.search(this.#keywords) < 0) return none;
    const found: Suspect[] = [];
    let budget = mostKeywords;
    for (
      let from = 0;
      budget > 0 && (from === 0 || from + sharedCharacters < text.length);
      from += pieceCharacters - sharedCharacters
    ) {
      const piece = text.length <= pieceCharacters ? text : text.slice(from, from + pieceCharacters);
      const [suspects, spent] = this.#search(piece, budget);
      budget -= spent;
      for (const { kind, start, end } of suspects) found.push({ kind, start: from + start, end: from + end });
    }
    return withoutOverlaps(found);
  }

  /** @returns the suspects of the piece and its number of keywords; only the part before `most` keywords is searched */
  #search(piece: string, most: number): readonly [readonly Suspect[], number] {
    const keywords = this.#keywords;
    keywords.lastIndex = 0;
    const words = new Set<string>();
    let count = 0;
    let end = piece.length;
    for (let found = keywords.exec(piece); found !== null; found = keywords.exec(piece)) {
      const [word] = found;
      words.add(word);
      count += 1;
      if (count === most) {
        end = found.index + word.length;
        break;
      }
      keywords.lastIndex = found.index + 1; // keywords may overlap
    }
    if (count === 0) return [none, 0];
    const seen = piece.slice(0, end);
    const awake = this.#rules.filter(
      ({ keywords, besides }) => keywords.some((word) => words.has(word)) && seen.includes(besides),
    );
    return [awake.flatMap((rule) => rule.search(seen)), count];
  }
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

const none: readonly Suspect[] = [];

/** Suspects that overlap become the first one, with the length of both. */
function withoutOverlaps(suspects: readonly Suspect[]): readonly Suspect[] {
  if (suspects.length < 2) return suspects;
  const whole: Suspect[] = [];
  for (const suspect of suspects.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    const last = whole.at(-1);
    if (last === undefined || suspect.start >= last.end) whole.push(suspect);
    else if (suspect.end > last.end) whole[whole.length - 1] = { ...last, end: suspect.end };
  }
  return whole;
}
