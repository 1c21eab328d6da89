/**
 * A tar archive (POSIX ustar, with pax headers for long names and large sizes), written and read in pieces. The reader
 * takes only plain files, and refuses every byte that the writer would not have written.
 */
import { RuntimeFault } from "@postern/core";

export interface ArchivedFile {
  /** With `/` between folders, relative. */
  readonly name: string;
  readonly bytes: number;
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const blockBytes = 512;
const mostPlainBytes = 8 ** 11 - 1;
/** Far more than any name has. */
const mostPaxBytes = 64 * 1024;

/** @param at seconds since 1970, the time of every file in it */
export async function* writeTar(files: AsyncIterable<ArchivedFile>, at: number): AsyncGenerator<Uint8Array> {
  for await (const { name, bytes, chunks } of files) {
    const isPlain = /^[\x20-\x7e]{1,100}$/.test(name) && bytes <= mostPlainBytes;
    if (!isPlain) {
      const records = Buffer.from(paxRecord("path", name) + paxRecord("size", String(bytes)));
      yield header("pax", { bytes: records.length, at, type: "x" });
      yield records;
      yield padding(records.length);
    }
    yield header(isPlain ? name : "long", { bytes: isPlain ? bytes : Math.min(bytes, mostPlainBytes), at, type: "0" });
    let written = 0;
    for await (const chunk of chunks) {
      written += chunk.length;
      yield chunk;
    }
    if (written !== bytes) throw new RuntimeFault("internal", `\`${name}\` changed while it was copied.`);
    yield padding(bytes);
  }
  yield Buffer.alloc(2 * blockBytes);
}

/** The files in their order. The chunks of one must be read before the next one is asked for. @throws RuntimeFault `backup_damaged` */
export async function* readTar(archive: AsyncIterable<Uint8Array>): AsyncGenerator<ArchivedFile> {
  const pieces = new Pieces(archive);
  let isEmpty = true;
  for (;;) {
    const block = await pieces.take(blockBytes);
    if (block.length === 0) throw damaged(isEmpty ? "it is empty" : "it was cut off");
    isEmpty = false;
    if (isZero(block)) break;
    yield await readFile(block, pieces);
  }
  if (!isZero(await pieces.take(blockBytes)) || (await pieces.take(1)).length > 0)
    throw damaged("something follows its end");
}

export function damaged(why: string): RuntimeFault {
  return new RuntimeFault("backup_damaged", `The backup is damaged: ${why}.`);
}

async function readFile(block: Buffer, pieces: Pieces): Promise<ArchivedFile> {
  const first = readHeader(block);
  if (first.type === "0") return fileOf(first.name, first.bytes, pieces);
  if (first.bytes > mostPaxBytes) throw damaged("a name in it is too long");
  const records = await pieces.take(first.bytes);
  await endOf(pieces, first.bytes);
  const { path = "", size = "" } = paxIn(records.toString("utf8"));
  const second = readHeader(await pieces.take(blockBytes));
  if (second.type !== "0" || second.name !== "long") throw damaged("a name in it has no file");
  return fileOf(path, Number(size), pieces);
}

function fileOf(name: string, bytes: number, pieces: Pieces): ArchivedFile {
  return { name, bytes, chunks: chunksOf(bytes, pieces) };
}

async function* chunksOf(bytes: number, pieces: Pieces): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; ) {
    const chunk = await pieces.some(left);
    if (chunk.length === 0) throw damaged("it was cut off");
    left -= chunk.length;
    yield chunk;
  }
  await endOf(pieces, bytes);
}

async function endOf(pieces: Pieces, bytes: number): Promise<void> {
  const rest = padding(bytes).length;
  const found = await pieces.take(rest);
  if (found.length < rest) throw damaged("it was cut off");
  if (!isZero(found, rest)) throw damaged("bytes between two files were changed");
}

interface TarHeader {
  readonly name: string;
  readonly bytes: number;
  readonly type: "0" | "x";
}

function header(name: string, { bytes, at, type }: { bytes: number; at: number; type: TarHeader["type"] }): Buffer {
  const block = Buffer.alloc(blockBytes);
  block.write(name, 0, 100, "latin1");
  block.write(`0000600\0${"0000000\0".repeat(2)}`, 100, "latin1");
  block.write(`${octal(bytes)}\0${octal(at)}\0`, 124, "latin1");
  block.write(type, 156, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  block.write(`${sumOf(block).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** A header is what the writer makes of its own fields, byte for byte. */
function readHeader(block: Buffer): TarHeader {
  if (block.length < blockBytes) throw damaged("it was cut off");
  const name = block.toString("latin1", 0, 100).replace(/\0+$/, "");
  const [bytes, at] = [124, 136].map((from) => Number.parseInt(block.toString("latin1", from, from + 11), 8));
  const type = block.toString("latin1", 156, 157);
  if (bytes === undefined || at === undefined || Number.isNaN(bytes + at) || (type !== "0" && type !== "x"))
    throw damaged("the head of a file in it is not one of Postern");
  if (!header(name, { bytes, at, type }).equals(block)) throw damaged("the head of a file in it was changed");
  return { name, bytes, type };
}

function octal(value: number): string {
  return value.toString(8).padStart(11, "0");
}

/** Over the block whose own sum counts as spaces. */
function sumOf(block: Buffer): number {
  return block.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 32 : byte), 0);
}

/** `LENGTH NAME=VALUE\n`, where the length counts itself. */
function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + 1;
  while (String(length).length + bytes !== length) length += 1;
  return `${length}${rest}`;
}

function paxIn(text: string): Readonly<Record<string, string>> {
  const found = /^\d+ path=([^\0]*)\n\d+ size=(\d{1,15})\n$/.exec(text);
  const [, path = "", size = ""] = found ?? [];
  if (paxRecord("path", path) + paxRecord("size", size) !== text) throw damaged("a name in it was changed");
  return { path, size };
}

function padding(bytes: number): Uint8Array {
  return new Uint8Array((blockBytes - (bytes % blockBytes)) % blockBytes);
}

function isZero(bytes: Uint8Array, length: number = blockBytes): boolean {
  return bytes.length === length && bytes.every((byte) => byte === 0);
}

/** Takes so many bytes of a stream of pieces. */
class Pieces {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Fewer only at the end. */
  async take(bytes: number): Promise<Buffer> {
    const taken: Buffer[] = [];
    for (let left = bytes; left > 0; ) {
      const piece = await this.some(left);
      if (piece.length === 0) break;
      taken.push(piece);
      left -= piece.length;
    }
    return Buffer.concat(taken);
  }

  /** At least one byte, at most so many; none at the end. */
  async some(most: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#source.next();
      if (done === true) return this.#rest;
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const piece = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }
}
