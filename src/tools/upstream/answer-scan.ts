import { HeldJson } from "../json-in-slices.ts";

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;
const lineBreak = 0x0a;

/** A message of more bytes is looked through as it comes. */
export const longBytes: number = 1024 * 1024;
/** So much structured content is left unread. */
const leastBytes = 512 * 1024;
/** Longer names are none of those looked for. */
const longestName = 32;

/** A message in two: what is read at once, and its structured content, read later in slices. */
export interface Divided {
  readonly message: Buffer;
  readonly held?: HeldJson;
}

/**
 * Looks for `result.structuredContent` in a long JSON-RPC answer while its bytes come by, because parsing all of them in
 * one turn would stop everybody else. It only looks: whatever it does not understand stays where it is.
 */
export class AnswerScan {
  readonly #isOneLine: boolean;
  #offset = 0;
  #depth = 0;
  #inText = false;
  #escaped = false;
  #expectsName = false;
  /** What is being read as a name. */
  #name: string | undefined;
  /** The members that are open in the message, and in its result. */
  #member = "";
  #part = "";
  #from: number | undefined;
  #to: number | undefined;
  #isUnclear = false;

  /** @param isOneLine as a server-sent event has it: what stands on its other lines is more than JSON */
  constructor(isOneLine: boolean) {
    this.#isOneLine = isOneLine;
  }

  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (this.#inText) this.#text(byte);
      else if (byte === quote) this.#begin();
      else if (byte === openBrace || byte === openBracket) this.#enter(byte === openBrace, this.#offset + at);
      else if (byte === closeBrace || byte === closeBracket) this.#leave(this.#offset + at);
      else if (byte === comma) this.#expectsName = this.#depth === 1 || (this.#depth === 2 && this.#part !== "");
      else if (byte === lineBreak && this.#isOneLine && this.#depth > 0) this.#isUnclear = true;
    }
    this.#offset += bytes.length;
  }

  /** @param parts the bytes that were taken, and nothing else */
  divide(parts: readonly Buffer[]): Divided {
    const [from, to] = [this.#from, this.#to];
    if (this.#isUnclear || from === undefined || to === undefined || to - from < leastBytes)
      return { message: Buffer.concat(parts) };
    const held = between(parts, from, to);
    const inPlace = Buffer.from(held[0]?.[0] === openBrace ? "{}" : "[]");
    const message = Buffer.concat([...between(parts, 0, from), inPlace, ...between(parts, to, this.#offset)]);
    return { message, held: new HeldJson(held) };
  }

  #text(byte: number | undefined): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === backslash) this.#escaped = true;
    else if (byte === quote) {
      this.#inText = false;
      if (this.#name !== undefined && this.#depth === 1) this.#member = this.#name;
      if (this.#name !== undefined && this.#depth === 2) this.#part = this.#name;
      this.#name = undefined;
      return;
    }
    if (this.#name !== undefined && this.#name.length < longestName) this.#name += String.fromCharCode(byte ?? 0);
  }

  #begin(): void {
    this.#inText = true;
    if (this.#expectsName) this.#name = "";
    this.#expectsName = false;
  }

  #enter(isObject: boolean, at: number): void {
    this.#depth += 1;
    if (this.#depth === 2) this.#part = "";
    this.#expectsName = isObject && this.#depth <= 2;
    if (this.#depth !== 3 || this.#member !== "result" || this.#part !== "structuredContent") return;
    if (this.#from !== undefined) this.#isUnclear = true; // the parser takes the last of two
    this.#from = at;
    this.#to = undefined;
  }

  #leave(at: number): void {
    this.#depth -= 1;
    this.#expectsName = false;
    if (this.#depth === 2 && this.#from !== undefined) this.#to ??= at + 1;
  }
}

function between(parts: readonly Buffer[], from: number, to: number): Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  for (const part of parts) {
    const piece = part.subarray(Math.max(0, from - at), Math.max(0, to - at));
    if (piece.length > 0) found.push(piece);
    at += part.length;
  }
  return found;
}
