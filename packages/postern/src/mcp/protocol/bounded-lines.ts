const newline = 0x0a;
/** How much is kept of both ends of a line that is skipped. The request that it answers can be read from them. */
const edgeBytes = 1024;

/** A complete line without its end, or only the two ends of a line beyond the limit. */
export type BoundedLine = { readonly parts: readonly Buffer[] } | { readonly begin: Buffer; readonly end: Buffer };

/**
 * Divides the bytes of a pipe into lines of at most `limitBytes`. Each piece is searched once and not copied, in however many
 * pieces a line arrives. A line beyond the limit is skipped.
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

  /** Drops an incomplete line. */
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

/** Copies the bytes, because a part would keep its whole chunk in memory. */
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
