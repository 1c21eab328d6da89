import { counted } from "../core/shown.ts";
import { cut, headOf } from "./cut.ts";

/** Words beyond this are not counted: the number would cost more than it says. */
const mostCounted = 256 * 1024;
const headBytes = 160;

/** A short text is its own description; a longer one is its head and its counts. */
export function describeText(text: string, essence?: string): string {
  if (text === "") return "empty text";
  const bytes = Buffer.byteLength(text);
  const head = cut(
    headOf(text, 4 * headBytes)
      .replace(/\s+/g, " ")
      .trim(),
    headBytes,
  );
  if (bytes <= headBytes) return head === "" ? `text, ${bytes} bytes of white space` : head;
  const kind = essence === undefined || essence === "text/plain" ? "text" : essence;
  return `${kind}, ${lines(text)}, ${words(text)}, ${counted(bytes, "byte")}: ${head}`;
}

/** Lines beyond this are not counted. */
const mostLines = 100_000;

function lines(text: string): string {
  const count = linesIn(text);
  return count > mostLines ? `more than ${counted(mostLines, "line")}` : counted(count, "line");
}

/** A last line counts with and without its line break. */
function linesIn(text: string): number {
  let lines = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0 && lines <= mostLines; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** Counted by hand: a pattern over a large text would take longer than everything else that is done with it. */
function words(text: string): string {
  const end = Math.min(text.length, mostCounted);
  let count = 0;
  let inside = false;
  for (let at = 0; at < end; at += 1) {
    const isWord = !isSpace(text.charCodeAt(at));
    if (isWord && !inside) count += 1;
    inside = isWord;
  }
  return text.length > end ? `more than ${counted(count, "word")}` : counted(count, "word");
}

function isSpace(code: number): boolean {
  if (code <= 0x20) return true;
  if (code < 0xa0) return false;
  return code === 0xa0 || (code >= 0x2000 && code <= 0x200a) || code === 0x2028 || code === 0x2029 || code === 0x3000;
}
