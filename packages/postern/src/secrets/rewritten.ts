import type { TextSpan } from "./secret-store.ts";

/** Text in which some pieces were replaced. It maps each character back to its source. */
export interface Rewritten {
  readonly text: string;
  /** The source of a span of this text. */
  original(span: TextSpan): TextSpan;
}

/** The reading of a reading, with both ways back. */
export function thenRewrite(first: Rewritten, rewrite: (text: string) => Rewritten | undefined): Rewritten | undefined {
  const second = rewrite(first.text);
  return second && { text: second.text, original: (span) => first.original(second.original(span)) };
}

/** Replaces pieces of a text from left to right. */
export class Rewriting {
  readonly #source: string;
  readonly #pieces: string[] = [];
  /** Four numbers for each replaced piece: start and end in the new text, start and end in the source. */
  readonly #edits: number[] = [];
  #length = 0;
  #done = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** @param start at or after the end of the piece before */
  replace(start: number, end: number, by: string): void {
    if (start > this.#done) this.#pieces.push(this.#source.slice(this.#done, start));
    this.#pieces.push(by);
    const from = this.#length + start - this.#done;
    this.#length = from + by.length;
    this.#done = end;
    this.#edits.push(from, this.#length, start, end);
  }

  get isSame(): boolean {
    return this.#edits.length === 0;
  }

  finish(): Rewritten {
    const edits = this.#edits;
    this.#pieces.push(this.#source.slice(this.#done));
    return {
      text: this.#pieces.join(""),
      original: ({ start, end }) => ({ start: sourceOf(edits, start).start, end: sourceOf(edits, end - 1).end }),
    };
  }
}

/** The source of one character. For a character of a replaced piece, the whole source piece. */
function sourceOf(edits: readonly number[], at: number): TextSpan {
  let low = 0;
  let high = edits.length / 4;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edits[middle * 4] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const edit = (low - 1) * 4;
  if (edit < 0) return { start: at, end: at + 1 };
  const [until = 0, start = 0, end = 0] = edits.slice(edit + 1, edit + 4);
  if (at < until) return { start, end };
  return { start: end + at - until, end: end + at - until + 1 };
}

/** Wrapped encoded text has far longer lines (64 or 76); a shorter word at the end of a line is prose. */
const shortestLineCharacters = 12;

const widestIndentation = 16;

/** The text without the line breaks inside encoded values. Returns undefined when no line looks wrapped. */
export function joinLines(text: string): Rewritten | undefined {
  const lineEnd = text.includes("\n") ? "\n" : "\r";
  const rewriting = new Rewriting(text);
  for (let at = text.indexOf(lineEnd); at >= 0; at = text.indexOf(lineEnd, at + 1)) {
    const end = text.charAt(at - 1) === "\r" ? at - 1 : at;
    if (!endsWrapped(text, end)) continue;
    const next = afterIndentation(text, at + 1);
    if (isEncoded(text.charCodeAt(next))) rewriting.replace(end, next, "");
  }
  return rewriting.isSame ? undefined : rewriting.finish();
}

function afterIndentation(text: string, start: number): number {
  let at = start;
  while (at < start + widestIndentation && (text.charCodeAt(at) === 32 || text.charCodeAt(at) === 9)) at += 1;
  return at;
}

function endsWrapped(text: string, end: number): boolean {
  if (end < shortestLineCharacters) return false;
  for (let i = end - 1; i >= end - shortestLineCharacters; i -= 1) if (!isEncoded(text.charCodeAt(i))) return false;
  return true;
}

/** Whether it is a letter, a digit or one of `+ - _ = %`, as in base64, hex and percent-encoding. Returns false past the end (NaN). */
function isEncoded(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 47 && code <= 57) ||
    code === 43 ||
    code === 45 ||
    code === 95 ||
    code === 61 ||
    code === 37
  );
}
