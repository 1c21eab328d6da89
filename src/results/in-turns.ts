import { createHash, hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Redactor } from "../secrets/secret-store.ts";

/** What is done between two turns of others: half a millisecond of the slowest work here. */
const turnLength = 64 * 1024;
/** What is shorter is done at once. */
const longLength = 2 * turnLength;

/** As `redact`, with turns for others. What no secret can run over is looked at by itself. */
export async function redactedInTurns(text: string, redactor: Redactor): Promise<string> {
  if (redactor.reach === undefined || text.length <= longLength) return redactor.redact(text);
  const pieces: string[] = [];
  let isSame = true;
  for (let from = 0; from < text.length; await setImmediate()) {
    const to = cutFrom(text, from, redactor);
    const piece = text.slice(from, to);
    const redacted = redactor.redact(piece);
    isSame &&= redacted === piece;
    pieces.push(redacted);
    from = to;
  }
  return isSame ? text : pieces.join("");
}

/** Where nothing known stands on either side as far as it could reach. */
function cutFrom(text: string, from: number, redactor: Redactor): number {
  const { reach = 0 } = redactor;
  let to = from + Math.max(turnLength, 2 * reach);
  while (to < text.length && redactor.finds(text.slice(to - reach, to + reach))) to += 2 * reach;
  return Math.min(to, text.length);
}

/** As `finds`, in bytes that may be text. */
export async function foundInTurns(
  bytes: Buffer,
  redactor: Redactor,
  encoding: "utf8" | "latin1" = "utf8",
): Promise<boolean> {
  const { reach } = redactor;
  if (reach === undefined || bytes.length <= longLength) return redactor.finds(bytes.toString(encoding));
  for (let from = 0; from < bytes.length; from += turnLength, await setImmediate())
    if (redactor.finds(bytes.toString(encoding, from, from + turnLength + bytesACharacter * reach))) return true;
  return false;
}

const bytesACharacter = 4;

/** As `JSON.stringify` of a well-formed text, in pieces: what becomes bytes need never be one text. */
export async function spelledInTurns(text: string): Promise<readonly string[]> {
  if (text.length <= longLength) return [JSON.stringify(text)];
  const pieces: string[] = ['"'];
  for await (const piece of turnsOf(text)) pieces.push(JSON.stringify(piece).slice(1, -1));
  pieces.push('"');
  return pieces;
}

/** The pieces' UTF-8, one after the other. */
export async function bytesInTurns(pieces: readonly string[]): Promise<Buffer> {
  if (pieces.reduce((sum, piece) => sum + piece.length, 0) <= longLength) return Buffer.from(pieces.join(""));
  let length = 0;
  for (const piece of pieces) for await (const part of turnsOf(piece)) length += Buffer.byteLength(part);
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) for await (const part of turnsOf(piece)) at += bytes.write(part, at);
  return bytes;
}

export async function copiedInTurns(bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes.length <= longLength) return bytes.slice();
  const copy = new Uint8Array(bytes.length);
  for (let from = 0; from < bytes.length; from += longLength, await setImmediate())
    copy.set(bytes.subarray(from, from + longLength), from);
  return copy;
}

async function* turnsOf(text: string): AsyncGenerator<string, void> {
  for (let from = 0; from < text.length; ) {
    const to = pieceEnd(text, from + turnLength);
    yield text.slice(from, to);
    from = to;
    if (from < text.length) await setImmediate();
  }
}

/** Where a piece of a text may end: not within a pair of surrogates. */
export function pieceEnd(text: string, end: number): number {
  return (text.charCodeAt(end) & 0xfc00) === 0xdc00 ? end + 1 : end;
}

/** SHA-256, 64 hex digits. */
export async function digestInTurns(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= longLength) return hash("sha256", bytes, "hex");
  const digest = createHash("sha256");
  for (let from = 0; from < bytes.length; from += longLength, await setImmediate())
    digest.update(bytes.subarray(from, from + longLength));
  return digest.digest("hex");
}

/** Whether it takes more than one turn. */
export function isLong(text: string | undefined): boolean {
  return text !== undefined && text.length > longLength;
}
