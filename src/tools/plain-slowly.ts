import { setImmediate } from "node:timers/promises";
import { type Json, maxDepth } from "../calls/json.ts";
import { pieceEnd } from "../results/in-turns.ts";
import { type AnswerLimit, tooManyBytes } from "../results/raw-result.ts";
import type { Plain } from "./plain.ts";

/** What is at most so large is written at once: about a millisecond. */
const fewBytes = 128 * 1024;
const fewLevels = 32;
/** So much is written between two looks at the clock. */
const pieceCharacters = 32 * 1024;
const sliceMs = 0.5;

/** More than is taken. */
export class TooManyBytes extends RangeError {
  constructor(limitBytes: number, setting?: AnswerLimit) {
    super(`it has ${tooManyBytes(limitBytes, setting)}`);
  }
}

/** Whether a value can be written at once. Looks at no more than it takes to say no. */
export function isSmall(value: unknown): boolean {
  return weighed(value, fewBytes, fewLevels) >= 0;
}

/** What is left of `left` characters when the value's JSON is taken from it, about; negative: too little; NaN: it cannot be told. */
export function weighed(value: unknown, left: number, levels: number): number {
  if (typeof value === "string") return left - value.length - 2;
  if (typeof value !== "object" || value === null) return left - 4;
  if (levels === 0) return Number.NaN;
  if (Array.isArray(value)) {
    let rest = left - 2;
    for (let at = 0; at < value.length && rest >= 0; at += 1) rest = weighed(value[at], rest - 1, levels - 1);
    return rest;
  }
  if (ArrayBuffer.isView(value)) return left - 2 * value.byteLength;
  if ("toJSON" in value && !(value instanceof Date)) return Number.NaN; // what it gives is not known before
  let rest = left - 2;
  for (const name in value) {
    if (!(rest >= 0)) return rest;
    rest = weighed(Reflect.get(value, name), rest - name.length - 4, levels - 1);
  }
  return rest;
}

/** An array or object that is being written. */
interface Open {
  readonly source: object;
  /** None: an array. */
  readonly names: readonly string[] | undefined;
  readonly length: number;
  readonly copy: Json[] | Map<string, Json>;
  /** Where its copy goes when it is whole. */
  readonly keep: (copy: Json) => void;
  at: number;
  isEmpty: boolean;
}

/**
 * As `plain`, of any size, and others have their turn after each half millisecond. Stops where the limit is passed, also in what
 * is small in memory and endless as JSON (the same part many times over).
 *
 * A tool that changes its answer after it gave it is read as it stands when the walk comes by.
 *
 * @throws TooManyBytes; TypeError as `plain`
 */
export async function plainInSlices(given: unknown, limitBytes: number): Promise<Plain> {
  const walk = new Walk(limitBytes);
  walk.begin(given);
  let since = performance.now();
  while (walk.go()) {
    if (performance.now() - since < sliceMs) continue;
    await setImmediate();
    since = performance.now();
  }
  return walk.end();
}

class Walk {
  readonly #limitBytes: number;
  readonly #pieces: string[] = [];
  readonly #open: Open[] = [];
  readonly #ancestors = new Set<object>();
  #piece = "";
  /** A long text that is being written, from its first character on that is not. */
  #text = "";
  #bytes = 0;
  #deepest = 0;
  #result: Json = null;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  begin(given: unknown): void {
    const value = said(given, "");
    if (isNothing(value)) throw new TypeError(`a ${typeof value} is not JSON`);
    this.#write(value, (copy) => {
      this.#result = copy;
    });
  }

  /** One piece more; false: that was all. */
  go(): boolean {
    while (this.#piece.length < pieceCharacters) {
      const open = this.#open.at(-1);
      if (this.#text !== "") this.#goOnWithText();
      else if (open === undefined) return false;
      else if (open.at === open.length) this.#close(open);
      else this.#member(open);
    }
    this.#flush();
    return true;
  }

  end(): Plain {
    this.#flush();
    const text = this.#pieces.join("");
    return this.#deepest > maxDepth ? { text, isLong: true } : { text, value: this.#result, isLong: true };
  }

  #member(open: Open): void {
    const { source, names, at, copy } = open;
    open.at += 1;
    const name = names?.[at];
    const value = said(Reflect.get(source, name ?? at), name ?? String(at));
    if (name !== undefined && isNothing(value)) return;
    this.#piece += open.isEmpty ? "" : ",";
    open.isEmpty = false;
    if (name !== undefined) this.#piece += `${this.#spelled(name)}:`;
    this.#write(isNothing(value) ? null : value, (inner) => {
      if (Array.isArray(copy)) copy.push(inner);
      else copy.set((name ?? "").toWellFormed(), inner);
    });
  }

  #write(value: unknown, keep: (copy: Json) => void): void {
    if (typeof value !== "object" || value === null) {
      const scalar = scalarOf(value);
      keep(scalar);
      if (typeof scalar !== "string") this.#piece += String(scalar);
      else if (scalar.length <= pieceCharacters) this.#piece += this.#spelled(scalar);
      else this.#beginText(scalar);
      return;
    }
    if (this.#ancestors.has(value)) throw new TypeError("it holds itself: a cycle is not JSON");
    if (ArrayBuffer.isView(value) && value.byteLength > this.#limitBytes) throw new TooManyBytes(this.#limitBytes);
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const length = Array.isArray(value) ? value.length : (names?.length ?? 0);
    this.#ancestors.add(value);
    const copy = names === undefined ? [] : new Map<string, Json>();
    this.#open.push({ source: value, names, length, copy, keep, at: 0, isEmpty: true });
    this.#deepest = Math.max(this.#deepest, this.#open.length);
    this.#piece += names === undefined ? "[" : "{";
  }

  #close({ source, copy, keep }: Open): void {
    this.#open.pop();
    this.#ancestors.delete(source);
    this.#piece += Array.isArray(copy) ? "]" : "}";
    keep(Array.isArray(copy) ? copy : Object.fromEntries(copy));
  }

  #beginText(text: string): void {
    this.#bound(text);
    this.#piece += '"';
    this.#text = text;
  }

  #goOnWithText(): void {
    const to = pieceEnd(this.#text, pieceCharacters);
    this.#piece += JSON.stringify(this.#text.slice(0, to)).slice(1, -1);
    this.#text = this.#text.slice(to);
    if (this.#text === "") this.#piece += '"';
  }

  #spelled(text: string): string {
    this.#bound(text);
    return JSON.stringify(text.toWellFormed());
  }

  #bound(text: string): void {
    if (text.length > this.#limitBytes - this.#bytes) throw new TooManyBytes(this.#limitBytes);
  }

  #flush(): void {
    this.#bytes += Buffer.byteLength(this.#piece);
    if (this.#bytes > this.#limitBytes) throw new TooManyBytes(this.#limitBytes);
    this.#pieces.push(this.#piece);
    this.#piece = "";
  }
}

/** What a value says that it is as JSON (a Date, a library's object), and what a boxed one holds. */
function said(value: unknown, name: string): unknown {
  const own = typeof value === "object" && value !== null && "toJSON" in value ? value.toJSON : undefined;
  const spoken: unknown = typeof own === "function" ? own.call(value, name) : value;
  const isBoxed = spoken instanceof Number || spoken instanceof String || spoken instanceof Boolean;
  return isBoxed ? spoken.valueOf() : spoken;
}

function isNothing(value: unknown): boolean {
  return value === undefined || typeof value === "function" || typeof value === "symbol";
}

function scalarOf(value: unknown): string | number | boolean | null {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (typeof value === "boolean" || value === null) return value;
  throw new TypeError(`a ${typeof value} is not JSON`);
}
