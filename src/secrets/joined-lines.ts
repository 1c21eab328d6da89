import type { Span } from "./needles.ts";

/** Text without the line breaks that run through an encoded value, and the way back to where each character stood. */
export interface Joined {
  readonly text: string;
  /** A span of the joined text as one of the original. */
  original(span: Span): Span;
}

/** Encoded text wrapped at 64 or 76 has far longer lines; a shorter word at the end of a line is prose. */
const shortestLineCharacters = 12;

// A real break, or one that was escaped for JSON (once or twice) or for an address; then the indentation of the next line.
const breaks = /(?:\r\n?|\n|(?:\\{1,2}r)?\\{1,2}n|(?:%0d)?%0a)[ \t]{0,16}/gi;

/** Undefined when no line of it looks wrapped: then there is nothing a search of the text itself would miss. */
export function joinLines(text: string): Joined | undefined {
  if (!hasBreak(text)) return undefined;
  const pieces: string[] = [];
  /** For each break that was taken out: its place in the joined text, and how much is missing up to there. */
  const cuts: { readonly at: number; readonly missing: number }[] = [];
  let kept = 0;
  let missing = 0;
  for (const { 0: found, index } of text.matchAll(breaks)) {
    const after = index + found.length;
    if (!isEncoded(text.charCodeAt(after)) || !endsWrapped(text, index)) continue;
    pieces.push(text.slice(kept, index));
    missing += found.length;
    kept = after;
    cuts.push({ at: after - missing, missing });
  }
  if (cuts.length === 0) return undefined;
  pieces.push(text.slice(kept));
  const shift = (place: number): number => place + missingBefore(cuts, place);
  // The end is that of the last character inside, so that a break behind the span stays.
  return {
    text: pieces.join(""),
    original: ({ start, end }) => ({ start: shift(start), end: shift(end - 1) + 1 }),
  };
}

function hasBreak(text: string): boolean {
  return ["\n", "\r", "\\n", "%0A", "%0a"].some((sign) => text.includes(sign));
}

function missingBefore(cuts: readonly { readonly at: number; readonly missing: number }[], place: number): number {
  let low = 0;
  let high = cuts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cuts[middle]?.at ?? 0) <= place) low = middle + 1;
    else high = middle;
  }
  return cuts[low - 1]?.missing ?? 0;
}

function endsWrapped(text: string, end: number): boolean {
  if (end < shortestLineCharacters) return false;
  for (let i = end - 1; i >= end - shortestLineCharacters; i -= 1) if (!isEncoded(text.charCodeAt(i))) return false;
  return true;
}

/** Letters, digits and `+ / - _ = %`: what base64, hex and percent-encoding are made of. False past the end (NaN). */
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
