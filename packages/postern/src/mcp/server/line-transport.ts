import type { Readable, Writable } from "node:stream";
import { type Clock, isJsonObject, type JsonObject, SystemClock } from "@postern/core";
import { type BoundedLine, BoundedLines } from "../protocol/bounded-lines.ts";
import { kindOf, type MessageId } from "../protocol/peer.ts";
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
 * JSON-RPC over pipes, one message a line, read as strictly as over HTTP. A line that is too long, no JSON, a batch or no
 * message is answered with an error, and the next one is read. Requests that were read are answered also after the input has
 * ended. Messages after `initialize` wait for its answer.
 */
export class LineTransport {
  onclose?: () => void;
  onmessage?: (message: JsonObject) => void;
  readonly #pipes: Pipes;
  readonly #lineLimitBytes: number;
  readonly #graceMs: number;
  readonly #clock: Clock;
  readonly #lines: BoundedLines;
  /** The methods of requests that wait for an answer. */
  readonly #unanswered = new Map<unknown, unknown>();
  /** Messages after an `initialize` that is not answered yet. */
  readonly #held: JsonObject[] = [];
  #opening: MessageId | undefined;
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

  start(): void {
    const { input, output } = this.#pipes;
    input.on("data", this.#read);
    input.once("end", this.#end);
    input.once("close", this.#end);
    input.on("error", this.#end);
    output.once("close", this.#gone);
    output.on("error", this.#gone); // stays on: a late write must not become an uncaught error
  }

  send(message: JsonObject): Promise<void> {
    const written = this.#write(message);
    if (!("method" in message)) this.#answered(message["id"] as MessageId | undefined); // of an answer
    return written;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelGrace();
    const { input } = this.#pipes;
    input.off("data", this.#read);
    input.pause();
    this.#lines.clear();
    this.onclose?.();
  }

  readonly #gone = (): void => this.close();

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
    this.close();
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
    else if (isJsonObject(read.message) && kindOf(read.message) !== undefined) this.#receive(read.message);
    else this.#refuse(rpcError(-32_600, "The line is not a JSON-RPC 2.0 message."));
  }

  #receive(message: JsonObject): void {
    if (kindOf(message) === "request") {
      const { id, method } = message as { readonly id: MessageId; readonly method: string }; // of a request
      if (this.#unanswered.has(id)) return void this.#refuse(idUnderWay(id));
      this.#unanswered.set(id, method);
    }
    if (this.#opening === undefined) this.#deliver(message);
    else this.#held.push(message);
  }

  #deliver(message: JsonObject): void {
    const { id, method, params } = message;
    if (method === "initialize") this.#opening = id as MessageId; // of a request
    if (method === "notifications/cancelled" && isJsonObject(params)) this.#unanswered.delete(params["requestId"]); // it gets no answer
    this.onmessage?.(message);
  }

  #answered(id: MessageId | undefined): void {
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
    if (this.#isOver && this.#awaited().length === 0) this.close();
  }

  /** Requests whose answer the client waits for. A request to listen is answered only at the end. */
  #awaited(): readonly MessageId[] {
    return [...this.#unanswered].flatMap(([id, method]) =>
      method === "subscriptions/listen" ? [] : [id as MessageId],
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
