const newline = 0x0a;
/** Of a line that is skipped so much is kept of its begin and of its end: what it was can still be told from them. */
const edgeBytes = 1024;

/** A line that is over, without its end; of one beyond the limit its two edges alone. */
export type BoundedLine = { readonly parts: readonly Buffer[] } | { readonly begin: Buffer; readonly end: Buffer };

/**
 * What comes through a pipe as lines, a message a line, no more of each than `limitBytes`. What arrives is looked at once
 * and copied by nobody, however many pieces a line comes in; a line beyond the limit is skipped, and the next one is read.
 */
export class BoundedLines {
  readonly #limitBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #begin: Buffer | undefined;
  #end: Buffer = Buffer.alloc(0);

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** The lines that end in this piece. */
  take(chunk: Buffer): readonly BoundedLine[] {
    const lines: BoundedLine[] = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      this.#keep(chunk.subarray(from, at));
      lines.push(this.#line());
      this.clear();
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  /** Forgets what it has of a line that is not over. */
  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#begin = undefined;
    this.#end = Buffer.alloc(0);
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#begin === undefined && this.#bytes > this.#limitBytes) {
      this.#begin = firstBytes([...this.#parts, part]);
      this.#parts = [];
    }
    if (this.#begin !== undefined) this.#end = lastBytes(this.#end, part);
    else if (part.length > 0) this.#parts.push(part);
  }

  #line(): BoundedLine {
    const begin = this.#begin;
    return begin === undefined ? { parts: this.#parts } : { begin, end: this.#end };
  }
}

/** A copy: a part would keep the whole chunk it was cut from. */
function firstBytes(parts: readonly Buffer[]): Buffer {
  const few: Buffer[] = [];
  for (let at = 0, bytes = 0; at < parts.length && bytes < edgeBytes; at += 1) {
    const part = parts[at] ?? Buffer.alloc(0);
    few.push(part.subarray(0, edgeBytes - bytes));
    bytes += part.length;
  }
  return Buffer.concat(few);
}

function lastBytes(before: Buffer, part: Buffer): Buffer {
  return Buffer.from(Buffer.concat([before, part.subarray(-edgeBytes)]).subarray(-edgeBytes));
}
