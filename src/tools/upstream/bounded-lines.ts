import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { tooLarge } from "./too-large.ts";

const newline = 0x0a;
/** Of a line that is skipped so much is kept of its begin and of its end: its `id` stands in one of them. */
const edgeBytes = 1024;

/** A line that is over. */
type Line = { readonly bytes: Buffer } | { readonly begin: Buffer; readonly end: Buffer };

/**
 * What a child process says, a JSON-RPC message a line: in the place of the SDK's buffer, which gives the whole connection
 * up over one long line, and copies all of a line for each piece of it that arrives.
 *
 * Of a line beyond the limit nothing is read but whose answer it is: that request ends as `tooLarge`, the others go on.
 * A line that does not say whose it is is dropped, and whoever waits for it waits for his own limit.
 */
export class BoundedLines {
  readonly #limitBytes: number;
  readonly #read: (line: string) => JSONRPCMessage;
  readonly #lines: Line[] = [];
  #parts: Buffer[] = [];
  #bytes = 0;
  #begin: Buffer | undefined;
  #end: Buffer = Buffer.alloc(0);

  /** @param read a line as a message; a SyntaxError is a line that is no JSON, which many servers write */
  constructor(limitBytes: number, read: (line: string) => JSONRPCMessage) {
    this.#limitBytes = limitBytes;
    this.#read = read;
  }

  append(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      this.#keep(chunk.subarray(from, at));
      this.#finish();
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /** @throws what `read` throws but for a SyntaxError; the line is gone then */
  readMessage(): JSONRPCMessage | null {
    for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) {
      const message = "bytes" in line ? this.#parsed(line.bytes) : this.#refusal(line);
      if (message !== undefined) return message;
    }
    return null;
  }

  clear(): void {
    this.#lines.length = 0;
    this.#forget();
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#begin === undefined && this.#bytes > this.#limitBytes) {
      this.#begin = firstBytes([...this.#parts, part]);
      this.#parts = [];
    }
    if (this.#begin === undefined) this.#parts.push(part);
    else this.#end = lastBytes(this.#end, part);
  }

  #finish(): void {
    const begin = this.#begin;
    this.#lines.push(begin === undefined ? { bytes: Buffer.concat(this.#parts) } : { begin, end: this.#end });
    this.#forget();
  }

  #forget(): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#begin = undefined;
    this.#end = Buffer.alloc(0);
  }

  #parsed(bytes: Buffer): JSONRPCMessage | undefined {
    try {
      return this.#read(bytes.toString("utf8").replace(/\r$/, ""));
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  #refusal({ begin, end }: { readonly begin: Buffer; readonly end: Buffer }): JSONRPCMessage | undefined {
    const id = answeredIn(begin.toString("latin1"), end.toString("latin1"));
    return id === undefined ? undefined : tooLarge(id, this.#limitBytes);
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

const scalar = String.raw`"[^"\\]*"\s*:\s*(?:"[^"\\]*"|-?[\d.eE+-]+|true|false|null)`;
/** An object whose first member that is no scalar is a result or an error: an answer, and neither request nor notification. */
const answerBegins = new RegExp(String.raw`^\s*\{((?:\s*${scalar}\s*,)*)\s*"(?:result|error)"\s*:`);
/** The last members of the line's own object, behind what its result ends with. No text can look like that: its quotes are escaped. */
const answerEnds = /[}\]"\w]\s*,((?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+)\s*,?)+)\s*\}\s*$/;
const idMember = /"id"\s*:\s*(?:"(\d{1,15})"|(\d{1,15}))(?!\d)/;

/** Whose answer a line is, by its two ends. */
function answeredIn(begin: string, end: string): number | undefined {
  const opened = answerBegins.exec(begin);
  if (opened === null) return undefined;
  const found = idMember.exec(opened[1] ?? "") ?? idMember.exec(answerEnds.exec(end)?.[1] ?? "");
  const id = found?.[1] ?? found?.[2];
  return id === undefined ? undefined : Number(id);
}
