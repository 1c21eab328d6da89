import { createHash, type Hash } from "node:crypto";
import { constants, type FileHandle } from "node:fs/promises";
import { RuntimeFault } from "../../core/fault.ts";
import { openPlainFile } from "../../core/system/plain-file.ts";

/** A seal says that the first so many bytes have this digest. */
export interface Extent {
  readonly bytes: number;
  readonly sha256: string;
}

const addingTo = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND;
const newline = 0x0a;
const chunkBytes = 65_536;
const longestLineBytes = 1_048_576;
/** If so much waits, the file is full: no more lines are added until it can be written. */
const mostWaitingCharacters = 2_000_000;

/**
 * A file of lines that only grows and always ends with a whole line. A torn end of a dead process is cut when the file is
 * opened, and one of a full disk before the next line is added.
 */
export class LineFile {
  readonly path: string;
  readonly #changed: (path: string) => void;
  #bytes = 0;
  #hash: Hash = createHash("sha256");
  #torn = false;
  #waiting = "";

  /** @param changed runs if another process has written to the file */
  constructor(path: string, changed: (path: string) => void) {
    this.path = path;
    this.#changed = changed;
  }

  get isWaiting(): boolean {
    return this.#waiting !== "";
  }

  get isFull(): boolean {
    return this.#waiting.length > mostWaitingCharacters;
  }

  /** Reads the file, cuts a torn end, and continues after it. */
  async open(each: (line: string) => void = () => {}): Promise<void> {
    await using file = await openPlainFile(this.path, constants.O_RDWR | constants.O_CREAT, "request_invalid");
    this.#bytes = 0;
    this.#hash = createHash("sha256");
    for await (const line of wholeLines(file)) {
      this.#bytes += line.length;
      this.#hash.update(line);
      each(line.toString("utf8", 0, line.length - 1));
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
    if (this.#waiting === "") return;
    const bytes = Buffer.from(this.#waiting);
    const taken = this.#waiting.length;
    await using file = await openPlainFile(this.path, addingTo, "request_invalid");
    await this.#mend(file);
    this.#torn = true;
    try {
      await writeAll(file, bytes);
    } catch (error) {
      await file.truncate(this.#bytes).then(
        () => {
          this.#torn = false;
        },
        () => {}, // the next flush cuts it
      );
      throw error;
    }
    this.#torn = false;
    this.#waiting = this.#waiting.slice(taken);
    this.#bytes += bytes.length;
    this.#hash.update(bytes);
  }

  /** Of what is in the file. */
  extent(): Extent {
    return { bytes: this.#bytes, sha256: this.#hash.copy().digest("hex") };
  }

  async #mend(file: FileHandle): Promise<void> {
    const { size } = await file.stat();
    if (size === this.#bytes) return;
    if (this.#torn && size > this.#bytes) return await file.truncate(this.#bytes);
    this.#changed(this.path);
    await this.open();
  }
}

/** Each line with its break. Text after the last break is no line. */
async function* wholeLines(file: FileHandle): AsyncGenerator<Buffer> {
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
    if (text.length > longestLineBytes)
      throw new RuntimeFault(
        "request_invalid",
        "A line of the run's files is longer than 1 MiB; Postern writes no such line.",
      );
    rest = text;
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await file.write(bytes, written)).bytesWritten;
  }
}
