/**
 * Files of lines that only grow: run folders, and what agents want to have remembered.
 *
 * Invariant: a line is in the file whole or not at all. A torn end of a dead process or of a full disk is no line, and is
 * cut before the next line is added. One process writes a file.
 */
import { constants, type FileHandle } from "node:fs/promises";
import { type FaultCode, RuntimeFault } from "@postern/core";
import { codeOf, Locks } from "@postern/core/system";
import { openPlainFile } from "./plain-file.ts";

const addingTo = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND;
const newline = 0x0a;
const chunkBytes = 65_536;
const longestLineBytes = 1_048_576;
/** If so much waits, the file is full: no more lines are added until it can be written. */
const mostWaitingCharacters = 2_000_000;
const unusable = "config_invalid";

/** Writes to one file of this process run one after another. */
const writing = new Locks();

/**
 * Adds a line. It is on the disk when this resolves, or not there at all.
 *
 * @throws RuntimeFault `config_invalid` if it is no plain file with one name; errors of the disk
 */
export function appendLine(path: string, line: string): Promise<void> {
  return writing.with([path], async () => {
    await using file = await openPlainFile(path, addingTo, unusable);
    const bytes = await wholeBytes(file);
    await file.truncate(bytes);
    await append(file, `${line}\n`, { after: bytes, isSynced: true });
  });
}

/** Every whole line, in order. A missing file has none. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let file: FileHandle;
  try {
    file = await openPlainFile(path, constants.O_RDONLY, unusable);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  try {
    for await (const line of wholeLines(file)) yield textOf(line);
  } finally {
    await file.close();
  }
}

export interface LineFileOptions {
  /** Of the RuntimeFault when the path is no plain file with one name, or a line is too long. */
  readonly code: FaultCode;
  /** Runs if another process has written to the file. */
  readonly changed: (path: string) => void;
}

/** Lines that wait in memory until they are added in one append. They are not synced: what a power cut takes is written again. */
export class LineFile {
  readonly path: string;
  readonly #options: LineFileOptions;
  /** Of the whole lines in the file. */
  #bytes = 0;
  /** Whether a write of ours failed, so that the end of the file may be torn. */
  #torn = false;
  #waiting = "";

  constructor(path: string, options: LineFileOptions) {
    this.path = path;
    this.#options = options;
  }

  get isWaiting(): boolean {
    return this.#waiting !== "";
  }

  get isFull(): boolean {
    return this.#waiting.length > mostWaitingCharacters;
  }

  /** Reads the file, cuts a torn end, and continues after it. */
  async open(each: (line: string) => void = () => {}): Promise<void> {
    await using file = await openPlainFile(this.path, constants.O_RDWR | constants.O_CREAT, this.#options.code);
    this.#bytes = 0;
    for await (const line of wholeLines(file, { most: longestLineBytes, code: this.#options.code })) {
      this.#bytes += line.length;
      each(textOf(line));
    }
    if ((await file.stat()).size > this.#bytes) await file.truncate(this.#bytes);
    this.#torn = false;
  }

  /** @param line without its break */
  add(line: string): void {
    this.#waiting += `${line}\n`;
  }

  /** One append for all added lines. If it throws, they still wait and the file is unchanged. */
  async flush(): Promise<void> {
    const taken = this.#waiting;
    if (taken === "") return;
    await using file = await openPlainFile(this.path, addingTo, this.#options.code);
    await this.#mend(file);
    this.#torn = true;
    await append(file, taken, { after: this.#bytes });
    this.#torn = false;
    this.#waiting = this.#waiting.slice(taken.length);
    this.#bytes += Buffer.byteLength(taken);
  }

  async #mend(file: FileHandle): Promise<void> {
    const { size } = await file.stat();
    if (size === this.#bytes) return;
    if (this.#torn && size > this.#bytes) return await file.truncate(this.#bytes);
    this.#options.changed(this.path);
    await this.open();
  }
}

/** On failure the file has its bytes from before again; if it cannot be cut either, its end is torn. */
async function append(
  file: FileHandle,
  text: string,
  { after, isSynced = false }: { readonly after: number; readonly isSynced?: boolean },
): Promise<void> {
  try {
    await file.appendFile(text);
    if (isSynced) await file.datasync();
  } catch (error) {
    await file.truncate(after).catch(() => undefined); // the next write cuts it
    throw error;
  }
}

/** Each line with its break. Text after the last break is no line. */
async function* wholeLines(
  file: FileHandle,
  limit?: { readonly most: number; readonly code: FaultCode },
): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for (let position = 0; ; ) {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const { bytesRead } = await file.read(chunk, 0, chunkBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    let text = rest.length === 0 ? chunk.subarray(0, bytesRead) : Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    for (let end = text.indexOf(newline); end !== -1; end = text.indexOf(newline)) {
      yield text.subarray(0, end + 1);
      text = text.subarray(end + 1);
    }
    if (limit !== undefined && text.length > limit.most)
      throw new RuntimeFault(limit.code, "A line of the file is longer than 1 MiB; Postern writes no such line.");
    rest = text;
  }
}

function textOf(line: Buffer): string {
  return line.toString("utf8", 0, line.length - 1);
}

/** The size of the whole lines, read from the end. */
async function wholeBytes(file: FileHandle): Promise<number> {
  const { size } = await file.stat();
  const piece = Buffer.alloc(chunkBytes);
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - piece.length);
    const { bytesRead } = await file.read(piece, 0, end - from, from);
    const at = piece.subarray(0, bytesRead).lastIndexOf(newline);
    if (at >= 0) return from + at + 1;
    end = from;
  }
  return 0;
}
