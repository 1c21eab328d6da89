import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { type Clock, defined, type JsonObject } from "@postern/core";
import { type BoundedLine, BoundedLines } from "../protocol/bounded-lines.ts";
import { tooLargeError } from "./bounded-body.ts";
import type { PendingRequests } from "./exchange.ts";
import type { IncomingMessages } from "./incoming-messages.ts";
import { largeBytes } from "./large-message.ts";
import { ProcessGroup } from "./process-group.ts";
import type { ServerAddress } from "./server-address.ts";
import { answeredIn } from "./server-message.ts";

export interface ProcessTransportOptions {
  readonly incoming: IncomingMessages;
  readonly pending: PendingRequests;
  readonly clock: Clock;
  /** The most bytes of one message. */
  readonly limitBytes: number;
}

const lastWordsBytes = 2_000;
/** Text that is not parsed costs this much less than a message. */
const errorStreamShare = 8;

/**
 * Starts a server and talks to it over its pipes, one JSON-RPC message a line. Unlike the SDK's transport it ends the whole
 * process group, skips lines that are too long or no messages, and stops reading from a server that sends too much.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #address: Extract<ServerAddress, { readonly kind: "stdio" }>;
  readonly #options: ProcessTransportOptions;
  readonly #lines: BoundedLines;
  /** Lines of this turn. Writing to a pipe wakes the server, which costs more than everything else of a call. */
  #unsent = "";
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #lastWords = "";

  constructor(address: Extract<ServerAddress, { readonly kind: "stdio" }>, options: ProcessTransportOptions) {
    this.#address = address;
    this.#options = options;
    this.#lines = new BoundedLines(options.limitBytes);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** What the server last wrote to its error stream. */
  get lastWords(): string {
    return this.#lastWords;
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.#address;
    const child = spawn(command, args, {
      env: { ...getDefaultEnvironment(), ...env },
      // A session of its own, so that Ctrl-C in a terminal does not end a server before its calls are finished.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      ...defined({ cwd }),
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once("error", reject);
    child.once("spawn", () => {
      this.#child = child;
      this.#group = new ProcessGroup(child);
      resolve();
    });
    child.once("close", () => {
      this.#child = undefined;
      this.onclose?.();
    });
    child.on("error", this.#report);
    child.stdin.on("error", this.#report); // writing to a server that has ended fails
    this.#follow(child, child.stdout, (chunk) => this.#read(chunk));
    this.#follow(child, child.stderr, (chunk) => {
      this.#options.incoming.inflow.count(chunk.length / errorStreamShare);
      this.#lastWords = (this.#lastWords + chunk.toString("utf8", Math.max(0, chunk.length - lastWordsBytes))).slice(
        -lastWordsBytes,
      );
    });
    return promise;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || stdin === null || !stdin.writable) throw new Error("Not connected");
    if (this.#unsent === "") setImmediate(() => this.#flush());
    this.#unsent += `${JSON.stringify(message)}\n`;
  }

  #flush(): void {
    const lines = this.#unsent;
    this.#unsent = "";
    this.#child?.stdin?.write(lines);
  }

  /** Ends the process and everything it started, and waits for that. */
  async close(): Promise<void> {
    await this.#group?.end();
    this.#lines.clear();
  }

  readonly #report = (error: Error): void => this.onerror?.(error);

  /** Pauses a server that sends more than it may. Nothing it sends is lost. */
  #follow(child: ChildProcess, stream: Readable, read: (chunk: Buffer) => void): void {
    const { incoming, clock } = this.#options;
    let cancelWait = (): void => {};
    stream.on("error", this.#report);
    stream.on("data", (chunk: Buffer) => {
      read(chunk);
      const { pauseMs } = incoming.inflow;
      if (pauseMs === 0 || child.exitCode !== null || child.signalCode !== null) return;
      stream.pause();
      cancelWait = clock.in(pauseMs, () => stream.resume());
    });
    child.once("exit", () => {
      cancelWait();
      stream.resume(); // the rest of the pipe must be read
    });
  }

  #read(chunk: Buffer): void {
    for (const line of this.#lines.take(chunk)) for (const message of this.#messagesOf(line)) this.#deliver(message);
  }

  #messagesOf(line: BoundedLine): readonly JsonObject[] {
    if (!("parts" in line)) {
      const id = answeredIn(line.begin.toString("latin1"), line.end.toString("latin1"));
      if (id === undefined) return [];
      const exchange = this.#options.pending.exchange(id);
      if (exchange !== undefined) exchange.tooLarge = true;
      return [tooLargeError(id, this.#options.limitBytes)];
    }
    const [only] = line.parts;
    if (only === undefined) return [];
    const bytes = line.parts.length === 1 ? only : Buffer.concat(line.parts);
    const { incoming, pending } = this.#options;
    if (bytes.length <= largeBytes) return incoming.read(bytes, pending).messages;
    void incoming.readLarge(bytes, pending).then(({ messages }) => {
      for (const message of messages) this.#deliver(message);
    });
    return [];
  }

  #deliver(message: JsonObject): void {
    this.onmessage?.(message as unknown as JSONRPCMessage); // checked when it was read
  }
}
