import type { Readable } from "node:stream";
import type { Terminal } from "../output/terminal.ts";
import { UsageProblem } from "../usage-problem.ts";

/** A terminal, or a pipe without `setRawMode`. */
export type HiddenInput = Readable & { readonly isTTY?: boolean; setRawMode?(on: boolean): unknown };

const interrupt = 0x03;
const endOfInput = 0x04;
const rubouts: readonly number[] = [0x08, 0x7f];
const lineEnds: readonly number[] = [0x0a, 0x0d];

/**
 * Reads one line without echo from a terminal, or everything from a pipe.
 *
 * @param mostBytes reading stops after so many; the caller refuses a value that is too long
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

/** Reads a value of this process's standard input: one that was typed on the command line could be read by other users. */
export async function readHiddenInput(
  { aside }: Pick<Terminal, "aside">,
  prompt: string,
  mostBytes: number,
): Promise<Uint8Array> {
  const input: HiddenInput = process.stdin;
  const bytes = await readHidden(input, mostBytes, () => aside(prompt));
  if (input.isTTY === true) aside("\n");
  return bytes;
}

async function readAll(input: Readable, mostBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const piece = Buffer.from(chunk as Uint8Array | string); // a stream of bytes, or of text when an encoding was set
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

/** UTF-8: a character is its first byte and the bytes that continue it (10xxxxxx). */
function dropCharacter(bytes: number[]): void {
  for (let byte = bytes.pop(); byte !== undefined && (byte & 0xc0) === 0x80; byte = bytes.pop());
}
