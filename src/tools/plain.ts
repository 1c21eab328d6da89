import { type Json, maxDepth } from "../calls/json.ts";

/** A value as JSON, with nothing left of the object it was: no getters, no sharing, no half surrogate pairs. */
export interface Plain {
  readonly text: string;
  /** None: it is nested deeper than any walk of ours goes, and only its text can be kept. */
  readonly value?: Json;
  /** It was written in slices: whoever goes on with it should take turns too. */
  readonly isLong?: true;
}

/** @throws TypeError or RangeError for what is not JSON: a function, a bigint, a cycle, a throwing getter, more than a text can hold */
export function plain(given: unknown): Plain {
  const written: string | undefined = JSON.stringify(given);
  if (written === undefined) throw new TypeError(`a ${typeof given} is not JSON`);
  const text = written.includes("\\ud") ? whole(written) : written;
  const value = JSON.parse(text) as Json; // `JSON.stringify` wrote it
  return text.length > 2 * maxDepth && isDeeperThan(maxDepth, value) ? { text } : { text, value };
}

/** `JSON.stringify` spells only half surrogate pairs as `\ud…`; the same characters typed as text have their backslash doubled. */
function whole(json: string): string {
  return json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\\ufffd");
}

function isDeeperThan(levels: number, value: Json): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}

/** At most so many characters, cut on a code point boundary and marked. */
export function shortened(text: string, maxLength: number): string {
  const sound = text.toWellFormed();
  if (sound.length <= maxLength) return sound;
  const head = sound.slice(0, maxLength - 1);
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…`;
}
