import { Rewriting, type Rewritten } from "./rewritten.ts";

/** Encoded text wrapped at 64 or 76 has far longer lines; a shorter word at the end of a line is prose. */
const shortestLineCharacters = 12;

const widestIndentation = 16;

/** The text without the line breaks that run through an encoded value. Undefined when no line of it looks wrapped. */
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
