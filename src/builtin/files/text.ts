import { isUtf8 } from "node:buffer";

/** Which ends of some bytes are cuts, so that half a character there is no mistake of the file's. */
export interface Cuts {
  readonly before: boolean;
  readonly after: boolean;
}

export interface FoundText {
  readonly text: string;
  /** Where its last whole character ends in the bytes it was found in. */
  readonly end: number;
}

/** As text a model can be shown: UTF-8 without NUL. Undefined: it is none. Halves of characters at a cut are left out. */
export function textIn(bytes: Buffer, { before, after }: Cuts): FoundText | undefined {
  const begin = before ? characterStart(bytes) : 0;
  const end = after ? characterEnd(bytes, begin) : bytes.length;
  const whole = bytes.subarray(begin, end);
  return whole.includes(0) || !isUtf8(whole) ? undefined : { text: whole.toString("utf8"), end };
}

/** All of the bytes, as text. Undefined: they are none. */
export function wholeText(bytes: Buffer): string | undefined {
  return textIn(bytes, { before: false, after: false })?.text;
}

function characterStart(bytes: Buffer): number {
  let begin = 0;
  while (begin < Math.min(3, bytes.length) && isContinuation(bytes[begin])) begin += 1;
  return begin;
}

function characterEnd(bytes: Buffer, begin: number): number {
  for (let back = 1; back <= Math.min(4, bytes.length - begin); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

const newline = 0x0a;

/** Where the line begins that comes after so many; -1 when there are fewer. */
export function afterLines(bytes: Uint8Array, count: number): number {
  let at = 0;
  for (let line = 0; line < count; line += 1) {
    const found = bytes.indexOf(newline, at);
    if (found < 0) return -1;
    at = found + 1;
  }
  return at;
}

export function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines += 1;
  return lines;
}
