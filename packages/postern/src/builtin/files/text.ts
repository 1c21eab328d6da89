import { isUtf8 } from "node:buffer";

export const byteOrderMark = "\ufeff";

/** Which ends of some bytes are cuts: half a character there is no mistake in the file. */
export interface Cuts {
  readonly before: boolean;
  readonly after: boolean;
}

export interface FoundText {
  readonly text: string;
  /** Where its first whole character begins in the bytes, and where the last one ends. */
  readonly begin: number;
  readonly end: number;
}

/** Text for a model: UTF-8 without NUL, and without halves of characters at a cut. Returns undefined if it is no text. */
export function textIn(bytes: Buffer, cuts: Cuts): FoundText | undefined {
  const found = utf8In(bytes, cuts);
  return found?.text.includes("\0") === true ? undefined : found;
}

/** The same, but the text may hold NUL. */
export function utf8In(bytes: Buffer, { before, after }: Cuts): FoundText | undefined {
  const begin = before ? characterStart(bytes) : 0;
  const end = after ? characterEnd(bytes, begin) : bytes.length;
  const whole = bytes.subarray(begin, end);
  return isUtf8(whole) ? { text: whole.toString("utf8"), begin, end } : undefined;
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

/** Where the line after `count` lines begins. Returns -1 if there are fewer. */
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
