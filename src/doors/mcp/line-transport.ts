import type { Readable, Writable } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { type RpcError, readMessage, rpcError } from "./message.ts";

export interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
}

const newline = 0x0a;

/**
 * JSON-RPC over pipes, a message a line, read as strictly as the same message over HTTP. Unlike the SDK's own it outlives
 * its client's mistakes: a line that is too long, no JSON, a batch or no message is answered with an error, and the next
 * line is read.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #pipes: Pipes;
  readonly #lineLimitBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #skipping = false;
  #closed = false;

  constructor(pipes: Pipes, lineLimitBytes: number = 10 * 2 ** 20) {
    this.#pipes = pipes;
    this.#lineLimitBytes = lineLimitBytes;
  }

  async start(): Promise<void> {
    const { input, output } = this.#pipes;
    input.on("data", this.#read);
    input.once("end", this.#end);
    input.once("close", this.#end);
    input.on("error", this.#end);
    output.on("error", this.#end); // stays on: a late write must not become an uncaught error
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.#write(message);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { input } = this.#pipes;
    input.off("data", this.#read);
    input.pause();
    this.#parts = [];
    this.onclose?.();
  }

  readonly #end = (): void => void this.close();

  readonly #read = (chunk: Buffer): void => {
    let rest = Buffer.from(chunk);
    for (let at = rest.indexOf(newline); at >= 0 && !this.#closed; at = rest.indexOf(newline)) {
      this.#keep(rest.subarray(0, at));
      this.#endLine();
      rest = rest.subarray(at + 1);
    }
    this.#keep(rest);
  };

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#lineLimitBytes) {
      this.#skipping = true;
      this.#parts = [];
    }
    if (!this.#skipping && part.length > 0) this.#parts.push(part);
  }

  #endLine(): void {
    const line = Buffer.concat(this.#parts);
    const isTooLong = this.#skipping;
    this.#parts = [];
    this.#bytes = 0;
    this.#skipping = false;
    if (isTooLong) this.#refuse(rpcError(-32_600, `A message may have ${this.#lineLimitBytes} bytes at most.`));
    else if (!isBlank(line)) this.#take(line);
  }

  #take(line: Buffer): void {
    const read = readMessage(line);
    if ("refused" in read) this.#refuse(read.refused);
    else if (isMessage(read.message)) this.onmessage?.(read.message);
    else this.#refuse(rpcError(-32_600, "The line is not a JSON-RPC 2.0 message."));
  }

  #refuse(error: RpcError): void {
    void this.#write(error);
  }

  /** Resolves when it is handed over; a client that reads slowly slows its own answers. */
  #write(message: object): Promise<void> {
    const { output } = this.#pipes;
    if (this.#closed || !output.writable) return Promise.resolve();
    if (output.write(`${JSON.stringify(message)}\n`)) return Promise.resolve();
    return new Promise((resolve) => {
      const go = (): void => {
        output.off("drain", go);
        output.off("close", go);
        resolve();
      };
      output.once("drain", go);
      output.once("close", go);
    });
  }
}

/** Between messages a client may write what JSON skips too. */
function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return (
    isJSONRPCRequest(value) ||
    isJSONRPCNotification(value) ||
    isJSONRPCResultResponse(value) ||
    isJSONRPCErrorResponse(value)
  );
}
