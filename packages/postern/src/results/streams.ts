import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Redactor } from "../secrets/secret-store.ts";

/** Size of a piece. */
export const pieceBytes: number = 64 * 1024;
/** UTF-8 bytes of one character, at most. */
const bytesACharacter = 4;
/** The reach of a redactor that does not state it. */
const usualReach = 16 * 1024;

/** Yields the bytes in pieces, and lets other work run in between. */
export async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let from = 0; from < bytes.length; from += pieceBytes, await setImmediate())
    yield bytes.subarray(from, from + pieceBytes);
}

/** SHA-256 as 64 hex digits, computed off the main thread. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= 2 * pieceBytes) return hash("sha256", bytes, "hex");
  return Buffer.from(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes))).toString("hex");
}

export async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}

/** As `finds`, piece by piece, so that other calls continue. Values across two pieces are found too. */
export async function findsIn(text: string, redactor: Redactor): Promise<boolean> {
  const { reach } = redactor;
  if (reach === undefined || text.length <= 2 * pieceBytes) return redactor.finds(text);
  for (let from = 0; from < text.length; from += pieceBytes, await setImmediate())
    if (redactor.finds(text.slice(from, from + pieceBytes + reach))) return true;
  return false;
}

/** The stream has more bytes than allowed. */
export class StreamTooLong extends RangeError {}

/** A known secret was found, so nothing of the stream may be kept. */
export class SecretInStream extends Error {}

/**
 * Yields the same bytes, counted and searched for known secrets, also across two pieces.
 *
 * @throws StreamTooLong, SecretInStream
 */
export async function* vetted(
  chunks: AsyncIterable<unknown>,
  limitBytes: number,
  redactor: Redactor,
): AsyncGenerator<Uint8Array, void> {
  const overlap = bytesACharacter * (redactor.reach ?? usualReach);
  let tail: Uint8Array = new Uint8Array();
  let bytes = 0;
  for await (const chunk of chunks) {
    const piece = bytesOf(chunk);
    bytes += piece.length;
    if (bytes > limitBytes) throw new StreamTooLong();
    if (overlap > 0) {
      for (let from = 0; from < piece.length; from += pieceBytes) {
        const part = Buffer.concat([tail, piece.subarray(from, from + pieceBytes)]);
        if (redactor.finds(part.toString())) throw new SecretInStream();
        tail = Uint8Array.from(part.subarray(Math.max(0, part.length - overlap)));
      }
    }
    yield piece;
    collectSoon(piece.length);
  }
}

let garbage: readonly number[] = [];

/**
 * Bytes lie outside the engine's heap, and the engine frees them only when the heap has enough garbage: after 64 MiB of
 * a stream. Extra garbage on the heap keeps the memory at a third of that.
 */
export function collectSoon(bytes: number): void {
  garbage = new Array<number>(Math.ceil(Math.min(bytes, pieceBytes) / 8)).fill(garbage.length);
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk === "string") return Buffer.from(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw new TypeError(`A stream of bytes gave a ${typeof chunk}; it must give Uint8Array or text.`);
}
