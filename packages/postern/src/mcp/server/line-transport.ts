import type { Readable, Writable } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { type Clock, SystemClock } from "@postern/core";
import { type BoundedLine, BoundedLines } from "../protocol/bounded-lines.ts";
import { idUnderWay, type RpcError, readMessage, rpcError } from "./message.ts";

export interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
}

export interface LineOptions {
  readonly lineLimitBytes?: number;
  /** How long open requests may take after the input has ended. Default: 10 s, as for the calls of a Postern that stops. */
  readonly graceMs?: number;
  readonly clock?: Clock;
}

/**
 * JSON-RPC over pipes, one message a line, read as strictly as over HTTP. Unlike the SDK's transport it answers a line that
 * is too long, no JSON, a batch or no message with an error, and reads on. Requests that were read are answered also after
 * the input has ended. Messages after `initialize` wait for its answer.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #pipes: Pipes;
  readonly #lineLimitBytes: number;
  readonly #graceMs: number;
  readonly #clock: Clock;
  readonly #lines: BoundedLines;
  /** The methods of requests that wait for an answer. */
  readonly #unanswered = new Map<unknown, string>();
  /** Messages after an `initialize` that is not answered yet. */
  readonly #held: JSONRPCMessage[] = [];
  #opening: RequestId | undefined;
  /** The input has ended. */
  #isOver = false;
  #closed = false;
  #cancelGrace: () => void = () => {};

  constructor(
    pipes: Pipes,
    { lineLimitBytes = 10 * 2 ** 20, graceMs = 10_000, clock = new SystemClock() }: LineOptions = {},
  ) {
    this.#pipes = pipes;
    this.#lineLimitBytes = lineLimitBytes;
    this.#graceMs = graceMs;
    this.#clock = clock;
    this.#lines = new BoundedLines(lineLimitBytes);
  }

  async start(): Promise<void> {
    const { input, output } = this.#pipes;
    input.on("data", this.#read);
    input.once("end", this.#end);
    input.once("close", this.#end);
    input.on("error", this.#end);
    output.once("close", this.#gone);
    output.on("error", this.#gone); // stays on: a late write must not become an uncaught error
  }

  send(message: JSONRPCMessage): Promise<void> {
    const written = this.#write(message);
    if (!("method" in message)) this.#answered(message.id);
    return written;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelGrace();
    const { input } = this.#pipes;
    input.off("data", this.#read);
    input.pause();
    this.#lines.clear();
    this.onclose?.();
  }

  readonly #gone = (): void => void this.close();

  readonly #end = (): void => {
    if (this.#isOver || this.#closed) return;
    this.#read(Buffer.from("\n")); // the last line needs no end
    this.#isOver = true;
    this.#cancelGrace = this.#clock.in(this.#graceMs, this.#giveUp);
    this.#leaveWhenDone();
  };

  readonly #giveUp = (): void => {
    const message = `It was not finished ${this.#graceMs / 1000} s after the input ended, so it was given up.`;
    for (const id of this.#awaited()) this.#refuse(rpcError(-32_603, message, id));
    void this.close();
  };

  readonly #read = (chunk: Buffer): void => {
    for (const line of this.#lines.take(chunk)) if (!this.#closed) this.#readLine(line);
  };

  #readLine(line: BoundedLine): void {
    if (!("parts" in line))
      this.#refuse(rpcError(-32_600, `A message may have ${this.#lineLimitBytes} bytes at most.`));
    else this.#take(Buffer.concat(line.parts));
  }

  #take(line: Buffer): void {
    if (isBlank(line)) return;
    const read = readMessage(line);
    if ("refused" in read) this.#refuse(read.refused);
    else if (isMessage(read.message)) this.#receive(read.message);
    else this.#refuse(rpcError(-32_600, "The line is not a JSON-RPC 2.0 message."));
  }

  #receive(message: JSONRPCMessage): void {
    const isRequest = isJSONRPCRequest(message);
    if (isRequest && this.#unanswered.has(message.id)) {
      this.#refuse(idUnderWay(message.id));
      return;
    }
    if (isRequest) this.#unanswered.set(message.id, message.method);
    if (this.#opening === undefined) this.#deliver(message);
    else this.#held.push(message);
  }

  #deliver(message: JSONRPCMessage): void {
    if (isInitialize(message)) this.#opening = message.id;
    if ("method" in message && message.method === "notifications/cancelled")
      this.#unanswered.delete(message.params?.["requestId"]); // it gets no answer
    this.onmessage?.(message);
  }

  #answered(id: RequestId | undefined): void {
    this.#unanswered.delete(id);
    if (this.#opening === id) this.#opening = undefined;
    while (this.#opening === undefined) {
      const next = this.#held.shift();
      if (next === undefined) break;
      this.#deliver(next);
    }
    this.#leaveWhenDone();
  }

  #leaveWhenDone(): void {
    if (this.#isOver && this.#awaited().length === 0) void this.close();
  }

  /** Requests whose answer the client waits for. A request to listen is answered only at the end. */
  #awaited(): readonly RequestId[] {
    return [...this.#unanswered].flatMap(([id, method]) =>
      method === "subscriptions/listen" ? [] : [id as RequestId],
    ); // only ids of requests are in it
  }

  #refuse(error: RpcError): void {
    void this.#write(error);
  }

  /** Resolves when the message is handed over, so a client that reads slowly receives its answers slowly. */
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

/** A client may write white space between messages. */
function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function isInitialize(message: JSONRPCMessage): message is JSONRPCRequest {
  return isJSONRPCRequest(message) && message.method === "initialize";
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return (
    isJSONRPCRequest(value) ||
    isJSONRPCNotification(value) ||
    isJSONRPCResultResponse(value) ||
    isJSONRPCErrorResponse(value)
  );
}
