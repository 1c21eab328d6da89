import { isScalar, type Json } from "@postern/core";

/** A number that a double may not hold: many digits, or an exponent of three digits. */
const longNumber = /[\d.]{16,}|\d[eE][+-]?\d{3}/;
/** At most this many places are named. A list of rows counts as one. */
const mostPlaces = 20;

/** A JSON value whose numbers are exact. A number that a double cannot hold is a text. */
export interface ExactJson {
  readonly value: Json;
  /** The places where a text replaces a number, as `rows[].id`. */
  readonly asText: readonly string[];
}

/** Whether `parseExactly` may differ from `JSON.parse`. Cheap. */
export function hasLongNumber(text: string): boolean {
  return longNumber.test(text);
}

/**
 * `JSON.parse` that changes no number: a number that a double cannot hold becomes a text with its digits.
 *
 * @throws SyntaxError
 */
export function parseExactly(text: string): ExactJson {
  if (!hasLongNumber(text)) return { value: JSON.parse(text) as Json, asText: [] }; // it returns JSON
  let found = false;
  const parsed = parse(text, (_name, value, { source }) => {
    if (typeof value !== "number" || source === undefined || holds(source, value)) return value;
    found = true;
    return new LongNumber(source);
  });
  return found ? withTexts(parsed) : { value: parsed as Json, asText: [] };
}

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown; // the type lacks the third argument

class LongNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Whether the double, written with as many digits as were sent, has the same digits. */
function holds(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  if (/^-?\d+$/.test(source)) return Number.isSafeInteger(value);
  const sent = digitsOf(source);
  if (sent === "" || value === 0) return sent === "";
  return sent.length <= 15 || (sent.length <= 100 && digitsOf(value.toPrecision(sent.length)) === sent);
}

function digitsOf(number: string): string {
  return number
    .replace(/[eE].*$/, "")
    .replaceAll(/[-.]/g, "")
    .replace(/^0+/, "")
    .replace(/0+$/, "");
}

interface JsonPlace {
  readonly value: unknown;
  readonly path: string;
  readonly put: (text: string) => void;
}

/** Without recursion, because a text may be nested deeply. */
function withTexts(parsed: unknown): ExactJson {
  let root = parsed;
  const asText = new Set<string>();
  const open: JsonPlace[] = [{ value: parsed, path: "", put: (text) => (root = text) }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value, path, put } = place;
    if (value instanceof LongNumber) {
      put(value.source);
      if (asText.size < mostPlaces) asText.add(path);
    } else if (typeof value === "object" && value !== null) open.push(...membersOf(value, path));
  }
  return { value: root as Json, asText: [...asText].reverse() }; // every `LongNumber` in it was replaced
}

function membersOf(value: object, path: string): JsonPlace[] {
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (inner === null || isScalar(inner)) return [];
    const put = (text: string): void =>
      void Object.defineProperty(value, name, { value: text, enumerable: true, configurable: true, writable: true });
    return [{ value: inner, path: isList ? `${path}[]` : path === "" ? name : `${path}.${name}`, put }];
  });
}
