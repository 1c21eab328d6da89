import { type Json, maxDepth } from "@postern/core";
import { type AnswerLimit, tooManyBytes } from "../../results/raw-result.ts";

/** A value as JSON, with nothing left of the object it was: no getters, no sharing, no half surrogate pairs. */
export interface Plain {
  readonly text: string;
  /** Undefined when it is nested deeper than `maxDepth`: only its text can be kept. */
  readonly value?: Json;
}

/** The value has more bytes than the limit allows. */
export class TooManyBytes extends RangeError {
  constructor(limitBytes: number, setting?: AnswerLimit) {
    super(`it has ${tooManyBytes(limitBytes, setting)}`);
  }
}

/**
 * Checks the size before it writes: a small value in memory can be endless as JSON (the same part many times over).
 *
 * @throws TooManyBytes; TypeError or RangeError for what is not JSON: a function, a bigint, a cycle, a throwing getter
 */
export function plain(given: unknown, limitBytes: number = Number.POSITIVE_INFINITY): Plain {
  const left = limitBytes === Number.POSITIVE_INFINITY ? 0 : weighed(given, limitBytes, maxDepth);
  if (left < 0) throw new TooManyBytes(limitBytes);
  const isBounded = left >= 0 || weighed(given, limitBytes, mostLevels) >= 0;
  const written = stringify(given, isBounded ? undefined : counting(limitBytes));
  if (written === undefined) throw new TypeError(`a ${typeof given} is not JSON`);
  const text = written.includes("\\ud") ? whole(written) : written;
  const value = JSON.parse(text) as Json; // `JSON.stringify` wrote it
  return text.length > 2 * maxDepth && isDeeperThan(maxDepth, value) ? { text } : { text, value };
}

/** `JSON.stringify` writes values that are nested so deep. */
const mostLevels = 4_000;

type Replacer = (name: string, value: unknown) => unknown;

function stringify(given: unknown, replacer: Replacer | undefined): string | undefined {
  try {
    return JSON.stringify(given, replacer);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (/^Converting circular structure/.test(error.message)) throw new TypeError("a cycle is not JSON");
    throw /serialize a BigInt/.test(error.message) ? new TypeError("a bigint is not JSON") : error;
  }
}

/** Stops writing a value of unknown size at the limit. */
function counting(limitBytes: number): Replacer {
  let left = limitBytes;
  return (_name, value) => {
    left -= typeof value === "string" ? value.length : value === undefined ? 0 : 1;
    if (left < 0) throw new TooManyBytes(limitBytes);
    return value;
  };
}

/**
 * Subtracts the length of the value's JSON, or less, from `left` characters.
 * Reads no more than it needs. Returns NaN if the value is nested deeper than `levels` or has `toJSON`.
 */
export function weighed(value: unknown, left: number, levels: number): number {
  if (typeof value === "string") return left - value.length - 2;
  if (typeof value !== "object" || value === null) return left - 1;
  if (ArrayBuffer.isView(value)) return left - 2 * value.byteLength;
  if (levels === 0 || value instanceof String) return Number.NaN;
  if (Array.isArray(value)) {
    let rest = left - 1;
    for (let at = 0; at < value.length && rest >= 0; at += 1) rest = weighed(value[at], rest - 1, levels - 1);
    return rest;
  }
  if ("toJSON" in value) return value instanceof Date ? left - 4 : Number.NaN;
  let rest = left - 1;
  for (const name in value) {
    if (!(rest >= 0)) return rest;
    const member: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
    rest = weighed(member, rest - name.length - 4, levels - 1);
  }
  return rest;
}

const fewBytes = 128 * 1024;
const fewLevels = 32;

/** Whether a value is small. Reads no more than it needs. */
export function isSmall(value: unknown): boolean {
  return weighed(value, fewBytes, fewLevels) >= 0;
}

/** `JSON.stringify` writes only half surrogate pairs as `\ud…`; in texts with these characters the backslash is doubled. */
function whole(json: string): string {
  return json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd");
}

function isDeeperThan(levels: number, value: Json): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}
