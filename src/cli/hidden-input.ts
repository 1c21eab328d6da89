import type { Readable } from "node:stream";
import { UsageProblem } from "./usage-problem.ts";

/** A terminal as input, or a pipe: then `setRawMode` is not there. */
export type HiddenInput = Readable & { readonly isTTY?: boolean; setRawMode?(on: boolean): unknown };

const interrupt = 0x03;
const endOfInput = 0x04;
const rubouts: readonly number[] = [0x08, 0x7f];
const lineEnds: readonly number[] = [0x0a, 0x0d];

/**
 * A value nobody sees: one line without echo from a terminal, everything from a pipe.
 *
 * @param mostBytes more are not read; whoever gets more than it wanted refuses it
 * @throws UsageProblem when the person gives up
 */
export async function readHidden(input: HiddenInput, mostBytes: number, prompt: () => void): Promise<Uint8Array> {
  if (input.isTTY !== true) return readAll(input, mostBytes);
  prompt();
  input.setRawMode?.(true);
  try {
    return await readLine(input, mostBytes);
  } finally {
    input.setRawMode?.(false);
    input.pause();
  }
}

async function readAll(input: Readable, mostBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const piece = Buffer.from(chunk as Uint8Array | string); // a stream of bytes, or of text when somebody set an encoding
    chunks.push(piece);
    bytes += piece.length;
    if (bytes > mostBytes) break;
  }
  return Buffer.concat(chunks);
}

async function readLine(input: Readable, mostBytes: number): Promise<Uint8Array> {
  const typed: number[] = [];
  for await (const chunk of input.iterator({ destroyOnReturn: false })) {
    for (const byte of Buffer.from(chunk as Uint8Array | string)) {
      // the same as above
      if (byte === interrupt) throw new UsageProblem("Nothing was set.");
      if (byte === endOfInput || lineEnds.includes(byte)) return Buffer.from(typed);
      if (rubouts.includes(byte)) dropCharacter(typed);
      else typed.push(byte);
    }
    if (typed.length > mostBytes) break;
  }
  return Buffer.from(typed);
}

/** UTF-8: a character is its first byte and those that go on (10xxxxxx). */
function dropCharacter(bytes: number[]): void {
  for (let byte = bytes.pop(); byte !== undefined && (byte & 0xc0) === 0x80; byte = bytes.pop());
}
