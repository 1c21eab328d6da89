/** Text in the order of an English index: `localeCompare`, `Intl.Collator`, lists and plurals. */
import { localeOf, onlyKnown } from "./locale.ts";

interface Options {
  readonly numeric?: boolean;
  readonly sensitivity?: "base" | "accent" | "case" | "variant";
  readonly usage?: "sort" | "search";
}

const known: ReadonlySet<string> = new Set(["numeric", "sensitivity", "usage"]);
const first = "\t\n\v\f\r\u0085\u2028\u2029 _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

export class Collator {
  readonly #options: Options;
  readonly compare: (one: unknown, other: unknown) => number;

  constructor(locales?: unknown, options: Options = {}) {
    localeOf(locales);
    onlyKnown(options, known, "an order of texts");
    this.#options = options;
    this.compare = (one, other) => this.#compared(String(one), String(other));
  }

  resolvedOptions(): object {
    return { locale: "en-US", usage: "sort", sensitivity: "variant", numeric: false, ...this.#options };
  }

  #compared(one: string, other: string): number {
    const { numeric = false, sensitivity = "variant" } = this.#options;
    const read = (text: string): Letters => lettersOf(numeric ? text.replace(leadingZeros, "") : text);
    const [a, b] = [read(one), read(other)];
    const byLetter = inOrder(chunks(a.base, numeric), chunks(b.base, numeric));
    if (byLetter !== 0 || sensitivity === "base") return byLetter;
    const byMark = sensitivity === "case" ? 0 : Math.sign(compareText(a.marks, b.marks));
    if (byMark !== 0 || sensitivity === "accent") return byMark;
    return compareText(a.cases, b.cases);
  }
}

/** A number is the same with them. */
const leadingZeros = /(?<!\d)0+(?=\d)/g;

interface Letters {
  readonly base: string;
  readonly marks: string;
  readonly cases: string;
}

function lettersOf(text: string): Letters {
  const base: string[] = [];
  const marks: string[] = [];
  const cases: string[] = [];
  for (const letter of text.normalize("NFD").replaceAll("ß", "ss").replaceAll("æ", "ae").replaceAll("ø", "o\u0338")) {
    if (/\p{Mn}/u.test(letter)) marks[marks.length - 1] = `${marks.at(-1) ?? ""}${letter}`;
    else if (first.includes(letter) || !/\p{Cc}/u.test(letter)) {
      base.push(letter.toLowerCase());
      marks.push("\0");
      cases.push(letter === letter.toLowerCase() ? "0" : "1");
    }
  }
  return { base: base.join(""), marks: marks.join(""), cases: cases.join("") };
}

type Chunk = string | bigint;

function chunks(text: string, numeric: boolean): readonly Chunk[] {
  return numeric ? (text.match(/\d+|\D/gu) ?? []).map((part) => (/\d/.test(part) ? BigInt(part) : part)) : [...text];
}

function inOrder(one: readonly Chunk[], other: readonly Chunk[]): number {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const order = compareChunk(one[at] ?? "", other[at] ?? "");
    if (order !== 0) return order;
  }
  return Math.sign(one.length - other.length);
}

function compareChunk(one: Chunk, other: Chunk): number {
  if (typeof one === "bigint" && typeof other === "bigint") return one < other ? -1 : one > other ? 1 : 0;
  const [a, b] = [weightOf(one), weightOf(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

function weightOf(chunk: Chunk): number {
  const letter = typeof chunk === "bigint" ? "0" : chunk;
  const place = first.indexOf(letter);
  return place >= 0 ? place - first.length : (letter.codePointAt(0) ?? 0);
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

export class ListFormat {
  readonly #word: string;

  constructor(locales?: unknown, { type = "conjunction" }: { readonly type?: "conjunction" | "disjunction" } = {}) {
    localeOf(locales);
    if (type !== "conjunction" && type !== "disjunction")
      throw new RangeError(`The list type \`${String(type)}\` is not here.`);
    this.#word = type === "conjunction" ? "and" : "or";
  }

  format(list: Iterable<string>): string {
    const all = [...list];
    const last = all.pop();
    if (last === undefined) return "";
    if (all.length === 0) return last;
    return `${all.join(", ")}${all.length > 1 ? "," : ""} ${this.#word} ${last}`;
  }
}

export class PluralRules {
  readonly #isOrdinal: boolean;

  constructor(locales?: unknown, { type = "cardinal" }: { readonly type?: "cardinal" | "ordinal" } = {}) {
    localeOf(locales);
    this.#isOrdinal = type === "ordinal";
  }

  select(value: number): "one" | "two" | "few" | "other" {
    if (!this.#isOrdinal) return value === 1 ? "one" : "other";
    const [unit, tens] = [value % 10, value % 100];
    if (unit === 1 && tens !== 11) return "one";
    if (unit === 2 && tens !== 12) return "two";
    return unit === 3 && tens !== 13 ? "few" : "other";
  }
}
