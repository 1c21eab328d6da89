import { type Json, maxDepth } from "./json.ts";

export type Strict =
  | { readonly value: Json }
  /** `position` counts UTF-16 units from 0. */
  | { readonly problem: string; readonly position?: number };

interface JsonProblem {
  readonly problem: string;
  readonly position?: number;
}

/** The names of an object so far; undefined for an array. */
interface JsonFrame {
  readonly names: Set<string> | undefined;
  expectsName: boolean;
}

/**
 * A body of a few megabytes can hold a million names, which would keep the process busy for seconds. Callers with more
 * names keep the value as an artifact.
 */
const mostNames = 50_000;
const mostValues = 250_000;

/**
 * Reads JSON that has only one meaning, so the same value is shown, bound, stored and run. `JSON.parse` decides the
 * grammar. This also refuses what `JSON.parse` accepts silently: a repeated name, `__proto__`, whole numbers it would
 * round, numbers it turns into infinity, halves of surrogate pairs, a byte order mark, too deep nesting.
 * Contract: never throws, and its work and memory grow with the text only.
 */
export function parseStrict(text: string): Strict {
  if (text.startsWith("\ufeff"))
    return { problem: "The text begins with a byte order mark; send it without.", position: 0 };
  if (!text.isWellFormed()) return { problem: "The text holds half of a surrogate pair." };
  const problem = new Scan(text).firstProblem();
  if (problem !== undefined) return problem;
  try {
    return { value: JSON.parse(text) as Json }; // JSON.parse makes nothing but JSON
  } catch (error) {
    return notJson(error);
  }
}

/**
 * One pass over the text before it is parsed. Malformed text may pass here, because the parser refuses it afterwards;
 * well-formed text is read exactly.
 */
class Scan {
  readonly #text: string;
  readonly #frames: JsonFrame[] = [];
  #names = 0;
  #values = 0;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  firstProblem(): JsonProblem | undefined {
    while (this.#at < this.#text.length) {
      const problem = this.#step(this.#text.charCodeAt(this.#at));
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #step(code: number): JsonProblem | undefined {
    if (code === 0x22) return this.#string(); // "
    if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return this.#number(); // - or a digit
    const frame = this.#frames.at(-1);
    if (code === 0x7b || code === 0x5b) return this.#open(code === 0x7b); // { [
    if (code === 0x7d || code === 0x5d)
      this.#frames.pop(); // } ]
    else if (frame !== undefined && code === 0x2c) {
      frame.expectsName = true; // ,
      this.#values += 1;
      if (this.#values >= mostValues) return tooMany(mostValues, "values", this.#at);
    } else if (frame !== undefined && code === 0x3a) frame.expectsName = false; // :
    this.#at += 1;
    return undefined;
  }

  #open(isObject: boolean): JsonProblem | undefined {
    if (this.#frames.length >= maxDepth) {
      return { problem: `Nested deeper than ${maxDepth} levels.`, position: this.#at };
    }
    this.#frames.push({ names: isObject ? new Set() : undefined, expectsName: true });
    this.#at += 1;
    return undefined;
  }

  #string(): JsonProblem | undefined {
    const start = this.#at;
    const end = closingQuote(this.#text, start);
    this.#at = end;
    const raw = this.#text.slice(start, end);
    const decoded = raw.includes("\\") ? decode(raw) : raw.slice(1, -1);
    if (decoded === undefined) return { problem: `The string ${shown(raw)} is not valid JSON.`, position: start };
    if (!decoded.isWellFormed())
      return {
        problem: `The string ${shown(raw)} holds half of a surrogate pair.`,
        position: start,
      };
    const frame = this.#frames.at(-1);
    if (frame?.names === undefined || !frame.expectsName) return undefined;
    if (decoded === "__proto__") return { problem: "The name `__proto__` is not accepted.", position: start };
    if (frame.names.has(decoded)) return { problem: `The name ${shown(raw)} is given twice.`, position: start };
    frame.names.add(decoded);
    this.#names += 1;
    return this.#names > mostNames ? tooMany(mostNames, "names", start) : undefined;
  }

  #number(): JsonProblem | undefined {
    const start = this.#at;
    while (this.#at < this.#text.length && isOfNumber(this.#text.charCodeAt(this.#at))) this.#at += 1;
    const token = this.#text.slice(start, this.#at);
    const value = Number(token);
    if (!Number.isFinite(value))
      return {
        problem: `The number ${shown(token)} is too large, or not a JSON number.`,
        position: start,
      };
    // A number with an exponent is a float. Without one, rounding would change the digits.
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER && !/[eE]/.test(token)) {
      return {
        problem: `The number ${shown(token)} is beyond 2^53 and would be rounded; send it as text.`,
        position: start,
      };
    }
    return undefined;
  }
}

/** The position after the closing quote, or the end of the text when it is missing. */
function closingQuote(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
    at = text.indexOf('"', at + 1);
  }
  return text.length;
}

function decode(raw: string): string | undefined {
  try {
    return JSON.parse(raw) as string; // it begins with a quote, so it can only be a string
  } catch {
    return undefined; // a wrong escape or no end: the caller reports it
  }
}

function isOfNumber(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d || code === 0x2e || code === 0x45 || code === 0x65
  );
}

function tooMany(most: number, what: "names" | "values", position: number): JsonProblem {
  return { problem: `More than ${most} ${what}; keep large data as an artifact and name it.`, position };
}

function notJson(error: unknown): JsonProblem {
  const message = error instanceof Error ? error.message : String(error);
  const position = /position (\d+)/.exec(message)?.[1];
  const where =
    position === undefined ? "it ends too early or holds something else" : `unexpected text at position ${position}`;
  return {
    problem: `This is not valid JSON: ${where}.`,
    ...(position === undefined ? {} : { position: Number(position) }),
  };
}

function shown(raw: string): string {
  return `\`${raw.length <= 60 ? raw : `${raw.slice(0, 60).toWellFormed()}…`}\``;
}
