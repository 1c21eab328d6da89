import { FileRejection } from "./guard/rejection.ts";
import { nearestLines } from "./nearest.ts";
import { byteOrderMark } from "./text.ts";

/** A text that stands in a file, and what replaces it. */
export interface TextEdit {
  readonly old_text: string;
  readonly new_text: string;
  readonly count?: number | undefined;
}

const lineEnd = /\r\n|\n|\r/g;
const mostNumbers = 20;

/**
 * Replaces a text that must occur exactly `count` times, else the caller has read something else. A line end in `old_text`
 * matches any line end of the file, and the file's line ends stay.
 */
export function edited(text: string, { old_text, new_text, count = 1 }: TextEdit): string {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : "";
  const body = without(mark, text);
  const before = without(mark, old_text);
  const after = without(mark, new_text);
  if (before === "") throw new FileRejection("no_match");
  const lines = new LineEnds(body);
  const alike = lines.matches(before);
  const exact = alike.length === count ? alike : lines.exactMatches(before);
  const found = exact.length === count ? exact : alike;
  if (found.length === 0)
    throw new FileRejection(
      "no_match",
      `does not hold the text that was to be replaced; nothing was changed${nearestLines(linesOf(body), linesOf(before))}`,
    );
  if (found.length !== count)
    throw new FileRejection(
      "no_match",
      `holds the text ${found.length} times (in ${lines.numbersOf(found)}), not ${count === 1 ? "once" : `${count} times`}; nothing was replaced. Give more of its surroundings, or \`count\` where the tool takes one.`,
    );
  return mark + lines.replaced(found.map((match) => ({ ...match, by: after })));
}

/** Inserts whole lines after a line; 0 means before the first. */
export function inserted(
  text: string,
  { line, new_text }: { readonly line: number; readonly new_text: string },
): string {
  return withLines(text, (now) => {
    if (line > now.length)
      throw new FileRejection("range_invalid", `has ${now.length} lines, so nothing can be put in after line ${line}.`);
    return [{ at: line, taken: 0, put: withPlainEnds(new_text).replace(/\n$/, "").split("\n") }];
  });
}

/** `taken` lines from `at` on (counted from 0) are replaced by `put`. */
export interface LineChange {
  readonly at: number;
  readonly taken: number;
  readonly put: readonly string[];
}

/** Changes some lines of a text. Its line ends stay, also a missing one at the end. */
export function withLines(text: string, change: (lines: readonly string[]) => readonly LineChange[]): string {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : "";
  const isOpen = text.length > mark.length && !/[\r\n]$/.test(text);
  const [usual = "\n"] = text.match(lineEnd) ?? [];
  const body = new LineEnds(`${without(mark, text)}${isOpen ? usual : ""}`);
  const changes = change(body.lines).map(({ at, taken, put }) => ({
    ...body.spanOf(at, taken),
    by: put.map((line) => `${line}\n`).join(""),
  }));
  const made = body.replaced(changes);
  return mark + (isOpen ? made.replace(/(?:\r\n|\n|\r)$/, "") : made);
}

/** A reader may not have seen the byte order mark, which is no part of the text. */
function without(mark: string, text: string): string {
  return mark !== "" && text.startsWith(mark) ? text.slice(mark.length) : text;
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|\n|\r/);
}

function withPlainEnds(text: string): string {
  return text.replaceAll(lineEnd, "\n");
}

/** A part of the text in UTF-16 units; the end is exclusive. */
interface Match {
  readonly from: number;
  readonly to: number;
}

/** A text and where its lines end. */
class LineEnds {
  readonly #text: string;
  /** The same text in which each line end is `\n`. */
  readonly #plain: string;
  readonly #ends: readonly (Match & { readonly end: string })[];
  readonly #firstUsual: string | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#plain = withPlainEnds(text);
    this.#ends = [...text.matchAll(lineEnd)].map(({ 0: end, index: from }) => ({ end, from, to: from + end.length }));
    this.#firstUsual = (this.#ends.find(({ end }) => end !== "\r") ?? this.#ends[0])?.end;
  }

  /** Without their ends. */
  get lines(): readonly string[] {
    return this.#plain.split("\n").slice(0, -1);
  }

  /** The place of whole lines. */
  spanOf(line: number, count: number): Match {
    return { from: this.#startOf(line), to: this.#startOf(line + count) };
  }

  /** For people: `lines 3, 9`. */
  numbersOf(matches: readonly Match[]): string {
    const shown = matches.slice(0, mostNumbers).map(({ from }) => this.#firstFrom(from) + 1);
    return `line${shown.length === 1 ? "" : "s"} ${shown.join(", ")}${matches.length > shown.length ? ", …" : ""}`;
  }

  /** @param changes in the order of the text */
  replaced(changes: readonly (Match & { readonly by: string })[]): string {
    let made = "";
    let at = 0;
    for (const { by, ...match } of changes) {
      made += this.#text.slice(at, match.from) + this.#withLineEnds(by, match);
      at = match.to;
    }
    return made + this.#text.slice(at);
  }

  #startOf(line: number): number {
    return line === 0 ? 0 : (this.#ends[line - 1]?.to ?? this.#text.length);
  }

  /** The places of a text, with any line ends. */
  matches(wanted: string): readonly Match[] {
    let passed = 0;
    let longer = 0; // a line end of two units has one unit in the plain text
    const inText = (position: number): number => {
      for (let end = this.#ends[passed]; end !== undefined && end.from - longer < position; end = this.#ends[passed]) {
        longer += end.end.length - 1;
        passed += 1;
      }
      return position + longer;
    };
    return occurrences(this.#plain, withPlainEnds(wanted)).map(({ from, to }) => ({
      from: inText(from),
      to: inText(to),
    }));
  }

  /** The places of a text with its own line ends. No match begins or ends inside a line end. */
  exactMatches(wanted: string): readonly Match[] {
    const isInside = (position: number): boolean => this.#text[position - 1] === "\r" && this.#text[position] === "\n";
    return occurrences(this.#text, wanted).filter(({ from, to }) => !isInside(from) && !isInside(to));
  }

  /** The replacement of a match: its lines end as the replaced ones do, and further lines as the lines around them. */
  #withLineEnds(text: string, { from, to }: Match): string {
    const first = this.#firstFrom(from);
    const around = this.#usualBefore(first);
    let next = first;
    return text.replaceAll(lineEnd, (own) => {
      const replaced = this.#ends[next];
      next += 1;
      return replaced !== undefined && replaced.to <= to ? replaced.end : (around ?? own);
    });
  }

  /** The first line end that does not begin before the position. */
  #firstFrom(position: number): number {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ends[middle]?.from ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** A lone `\r` counts as a line end only if all lines end with it. */
  #usualBefore(index: number): string | undefined {
    for (let i = index - 1; i >= 0; i -= 1) {
      const end = this.#ends[i]?.end;
      if (end !== "\r") return end;
    }
    return this.#firstUsual;
  }
}

function occurrences(text: string, wanted: string): readonly Match[] {
  const found: Match[] = [];
  for (let from = text.indexOf(wanted); from >= 0; from = text.indexOf(wanted, from + wanted.length))
    found.push({ from, to: from + wanted.length });
  return found;
}
