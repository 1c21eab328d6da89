import { setImmediate } from "node:timers/promises";
import type { Json } from "../calls/json.ts";
import { type ExactJson, parseExactly } from "./exact-json.ts";
import { textEnd } from "./json-text-end.ts";

/** So much is parsed between two turns of others: a few milliseconds. */
const usualSlice = 256 * 1024;
/** Each slice is parsed within what is open around it; what is deeper is parsed at once. */
const mostLevels = 1_000;
/** Stands for the member that leads inwards, in what is open around a slice: no JSON of this length has it by chance or by guess. */
const inwards: string = crypto.randomUUID();

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

export interface Slicing {
  readonly sliceBytes?: number;
  /** What lies between two slices. Undefined: the next one follows at once. */
  readonly turn?: () => Promise<void> | undefined;
}

/** JSON that came over a wire and is too long to be parsed in one turn: its bytes, unread. Only a connection makes one. */
export class HeldJson {
  readonly #parts: readonly Buffer[];
  readonly #sliceBytes: number;
  readonly #turn: () => Promise<void> | undefined;

  constructor(parts: readonly Buffer[], { sliceBytes = usualSlice, turn = () => setImmediate() }: Slicing = {}) {
    this.#parts = parts;
    this.#sliceBytes = sliceBytes;
    this.#turn = turn;
  }

  /** What `JSON.parse` makes of it, with turns for others. @throws SyntaxError */
  async parsed(): Promise<Json> {
    return (await this.#parsed((text) => ({ value: JSON.parse(text) as Json, asText: [] }))).value; // it makes nothing but JSON
  }

  /** What `parseExactly` makes of it, with turns for others. @throws SyntaxError */
  parsedExactly(): Promise<ExactJson> {
    return this.#parsed(parseExactly);
  }

  async #parsed(parse: (text: string) => ExactJson): Promise<ExactJson> {
    const slices = new Slices(this.#sliceBytes);
    const tree = new Tree(parse);
    for (const part of this.#parts) {
      for (const slice of slices.take(part)) {
        tree.add(slice);
        const others = this.#turn();
        if (others !== undefined) await others;
      }
      if (slices.isTooDeep) return parse(Buffer.concat(this.#parts).toString());
    }
    tree.add(slices.rest());
    return { value: tree.root, asText: tree.asText };
  }
}

/** An array or object that is open, and under which name in the one around it. */
interface Level {
  readonly isArray: boolean;
  /** Where in the slice its name stands, when it is a member of an object. */
  readonly nameFrom: number;
  readonly nameTo: number;
}

/** A part of the text that ends between two members. */
interface Slice {
  readonly bytes: Buffer;
  /** What is open behind it. */
  readonly open: readonly Level[];
  /** So many of these were open before it, and are still. */
  readonly kept: number;
}

/** Divides the text. What it does not understand is left to the parser, which throws. */
class Slices {
  readonly #sliceBytes: number;
  #open: Level[] = [];
  #kept = 0;
  #parts: Buffer[] = [];
  /** Bytes of the slice before this part. */
  #before = 0;
  #inText = false;
  /** The part before ended in the middle of an escape. */
  #isEscaped = false;
  #expectsName = false;
  #nameFrom = 0;
  #nameTo = 0;
  isTooDeep = false;

  constructor(sliceBytes: number) {
    this.#sliceBytes = sliceBytes;
  }

  *take(part: Buffer): Generator<Slice, void> {
    let from = 0;
    for (let at = 0; at < part.length; at += 1) {
      const byte = part[at];
      if (this.#inText) at = this.#throughText(part, at, from);
      else if (byte === quote) this.#begin(at - from);
      else if (byte === openBrace || byte === openBracket) this.#enter(byte === openBracket);
      else if (byte === closeBrace || byte === closeBracket) this.#leave(byte === closeBracket);
      else if (byte === comma) {
        if (this.#open.length === 0) throw new SyntaxError("a comma stands outside of everything");
        this.#expectsName = this.#open.at(-1)?.isArray === false;
        if (this.#before + at - from < this.#sliceBytes || this.isTooDeep) continue;
        this.#parts.push(part.subarray(from, at));
        yield this.#cut();
        from = at + 1;
      }
    }
    this.#parts.push(part.subarray(from));
    this.#before += part.length - from;
  }

  rest(): Slice {
    if (this.#open.length > 0) throw new SyntaxError("it ends too early");
    return this.#cut();
  }

  #cut(): Slice {
    const slice = { bytes: Buffer.concat(this.#parts), open: [...this.#open], kept: this.#kept };
    this.#parts = [];
    this.#before = 0;
    this.#kept = this.#open.length;
    return slice;
  }

  /** @returns where the text ends, or this part does */
  #throughText(part: Buffer, start: number, from: number): number {
    const at = textEnd(part, this.#isEscaped ? start + 1 : start);
    this.#isEscaped = at > part.length;
    this.#inText = at >= part.length;
    if (this.#inText) return at;
    if (this.#expectsName) this.#nameTo = this.#before + at - from + 1;
    this.#expectsName = false;
    return at;
  }

  #begin(at: number): void {
    this.#inText = true;
    if (this.#expectsName) this.#nameFrom = this.#before + at;
  }

  #enter(isArray: boolean): void {
    this.#open.push({ isArray, nameFrom: this.#nameFrom, nameTo: this.#nameTo });
    this.#expectsName = !isArray;
    if (this.#open.length > mostLevels) this.isTooDeep = true;
  }

  #leave(isArray: boolean): void {
    if (this.#open.pop()?.isArray !== isArray) throw new SyntaxError("an array or object does not end as it began");
    this.#kept = Math.min(this.#kept, this.#open.length);
    this.#expectsName = false;
  }
}

type Container = Json[] | { [name: string]: Json };

/** What the slices are together. */
class Tree {
  root: Json = null;
  /** What is open, from the outside in. */
  #open: Container[] = [];
  readonly #asText = new Set<string>();
  readonly #parse: (text: string) => ExactJson;

  constructor(parse: (text: string) => ExactJson) {
    this.#parse = parse;
  }

  /** Where a text stands for a number; what is open around a slice is left out of the path. */
  get asText(): readonly string[] {
    return [...this.#asText];
  }

  add({ bytes, open, kept }: Slice): void {
    const text = bytes.toString();
    const isFirst = this.#open.length === 0;
    if (!isFirst && /^[\]}]?$/.test(text.trimStart().slice(0, 1)))
      throw new SyntaxError("a comma is followed by nothing");
    if (open.length > 0 && /[[{]$/.test(text.trimEnd().slice(-1)))
      throw new SyntaxError("a comma stands behind nothing");
    const { value: parsed, asText } = this.#parse(`${this.#opening()}${text}${closing(open)}`);
    for (const place of asText) this.#asText.add(isFirst ? place : `…${behind(place)}`);
    if (isFirst) this.root = parsed;
    const around = isFirst ? [] : this.#merge(parsed);
    // Those that were closed are whole; those that were opened are the last members of the ones around them.
    this.#open.length = kept;
    around.length = kept;
    for (let level = kept; level < open.length; level += 1) {
      const outer = around.at(-1);
      const inner = outer === undefined ? parsed : lastOf(outer, open[level], bytes);
      if (typeof inner !== "object" || inner === null) throw new SyntaxError("an array or object was to be there");
      around.push(inner as Container); // JSON that is no scalar
      this.#open.push(inner as Container);
    }
  }

  #opening(): string {
    const last = this.#open.length - 1;
    return this.#open
      .map((one, i) => (Array.isArray(one) ? "[" : i === last ? "{" : `{${JSON.stringify(inwards)}:`))
      .join("");
  }

  /** The members of what was open go where they belong. @returns what was open, as this slice has it */
  #merge(parsed: Json): Container[] {
    const around: Container[] = [];
    let next: Json | undefined = parsed;
    for (const [i, target] of this.#open.entries()) {
      const source = next as Container; // it was opened as one
      const isLast = i === this.#open.length - 1;
      around.push(source);
      next = isLast ? undefined : Array.isArray(source) ? source[0] : source[inwards];
      if (Array.isArray(target) && Array.isArray(source))
        for (let at = isLast ? 0 : 1; at < source.length; at += 1) target.push(source[at] ?? null);
      else for (const [name, value] of Object.entries(source)) if (name !== inwards) put(target as object, name, value);
    }
    return around;
  }
}

/** A place within a slice, without the names that stand for what is open around it. */
function behind(place: string): string {
  const at = place.lastIndexOf(inwards);
  return at < 0 ? place : place.slice(at + inwards.length).replace(/^\./, "");
}

function closing(open: readonly Level[]): string {
  return open
    .map(({ isArray }) => (isArray ? "]" : "}"))
    .toReversed()
    .join("");
}

function lastOf(outer: Container, level: Level | undefined, bytes: Buffer): Json | undefined {
  if (Array.isArray(outer)) return outer.at(-1);
  const name: unknown = JSON.parse(bytes.toString("utf8", level?.nameFrom, level?.nameTo));
  return typeof name === "string" && Object.hasOwn(outer, name) ? outer[name] : undefined;
}

/** As `JSON.parse` does it: also `__proto__` is a member like any other. */
function put(target: object, name: string, value: Json): void {
  if (name === "__proto__")
    Object.defineProperty(target, name, { value, ...{ enumerable: true, configurable: true, writable: true } });
  else Reflect.set(target, name, value);
}
