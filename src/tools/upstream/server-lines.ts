import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { AnswerScan, longBytes } from "./answer-scan.ts";
import { BoundedLines, type Line } from "./bounded-lines.ts";
import { withHeld } from "./held-content.ts";
import { tooLarge } from "./too-large.ts";

/**
 * What a child process says, a JSON-RPC message a line: in the place of the SDK's buffer, which gives the whole connection
 * up over one long line, and copies all of a line for each piece of it that arrives.
 *
 * Of a line beyond the limit nothing is read but whose answer it is: that request ends as `tooLarge`, the others go on.
 * A line that does not say whose it is is dropped, and whoever waits for it waits for his own limit.
 */
export class ServerLines {
  readonly #limitBytes: number;
  readonly #read: (line: string) => JSONRPCMessage;
  readonly #pieces: BoundedLines<AnswerScan>;
  readonly #lines: Line<AnswerScan>[] = [];

  /** @param read a line as a message; a SyntaxError is a line that is no JSON, which many servers write */
  constructor(limitBytes: number, read: (line: string) => JSONRPCMessage) {
    this.#limitBytes = limitBytes;
    this.#read = read;
    this.#pieces = new BoundedLines(limitBytes, { bytes: longBytes, open: () => new AnswerScan(false) });
  }

  append(chunk: Buffer): void {
    this.#lines.push(...this.#pieces.take(chunk));
  }

  /** @throws what `read` throws but for a SyntaxError; the line is gone then */
  readMessage(): JSONRPCMessage | null {
    for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) {
      const message = "parts" in line ? this.#parsed(line.parts, line.scan) : this.#refusal(line);
      if (message !== undefined) return message;
    }
    return null;
  }

  clear(): void {
    this.#lines.length = 0;
    this.#pieces.clear();
  }

  #parsed(parts: readonly Buffer[], scan: AnswerScan | undefined): JSONRPCMessage | undefined {
    const { message, held } = scan?.divide(parts) ?? { message: Buffer.concat(parts) };
    try {
      return withHeld(this.#read(message.toString("utf8").replace(/\r$/, "")), held);
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
