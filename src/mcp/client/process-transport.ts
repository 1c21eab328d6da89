import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { Clock } from "../../core/clock.ts";
import type { JsonObject } from "../../core/json.ts";
import { type BoundedLine, BoundedLines } from "../protocol/bounded-lines.ts";
import { answeredIn } from "./answered-in.ts";
import { largeBytes } from "./large-message.ts";
import { PendingRequests } from "./pending-requests.ts";
import { ProcessGroup } from "./process-group.ts";
import type { ServerAddress } from "./server-config.ts";
import type { ServerWire } from "./server-wire.ts";
import { tooLargeError } from "./too-large.ts";

export interface ProcessTransportParts {
  readonly wire: ServerWire;
  readonly clock: Clock;
  /** What one message may have. */
  readonly limitBytes: number;
}

const lastWordsBytes = 2_000;
/** What is not parsed costs that much less. */
const errorStreamShare = 8;

/**
 * A server that we start and talk to over its pipes, a JSON-RPC message a line. Unlike the SDK's own transport it ends the
 * whole process group, outlives lines that are too long or no messages, and stops reading from a server that floods it.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** With `pid` it tells the SDK that this is a child process, which is asked in place which revision it speaks. */
  readonly stderr = null;
  readonly #address: Extract<ServerAddress, { readonly kind: "stdio" }>;
  readonly #parts: ProcessTransportParts;
  readonly #lines: BoundedLines;
  readonly #pending = new PendingRequests();
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #lastWords = "";

  constructor(address: Extract<ServerAddress, { readonly kind: "stdio" }>, parts: ProcessTransportParts) {
    this.#address = address;
    this.#parts = parts;
    this.#lines = new BoundedLines(parts.limitBytes);
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
      // A session of its own: Ctrl-C in a terminal is not for the servers, whose calls are finished first.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      ...(cwd !== undefined && { cwd }),
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
    child.on("error", this.#tell);
    child.stdin.on("error", this.#tell); // a server that has ended reads nothing more
    this.#follow(child, child.stdout, (chunk) => this.#read(chunk));
    this.#follow(child, child.stderr, (chunk) => {
      this.#parts.wire.inflow.count(chunk.length / errorStreamShare);
      this.#lastWords = (this.#lastWords + chunk.toString("utf8", Math.max(0, chunk.length - lastWordsBytes))).slice(
        -lastWordsBytes,
      );
    });
    return promise;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || stdin === null || !stdin.writable) throw new Error("Not connected");
    this.#pending.sending(message);
    if (stdin.write(`${JSON.stringify(message)}\n`)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    stdin.once("drain", resolve);
    stdin.once("close", resolve);
    await promise;
  }

  /** Ends the process with all it has started, and waits for that. */
  async close(): Promise<void> {
    await this.#group?.end();
    this.#lines.clear();
  }

  readonly #tell = (error: Error): void => this.onerror?.(error);

  /** A server that sends more than it may waits until it may again; nothing it sends is lost. */
  #follow(child: ChildProcess, stream: Readable, read: (chunk: Buffer) => void): void {
    const { wire, clock } = this.#parts;
    let cancelWait = (): void => {};
    stream.on("error", this.#tell);
    stream.on("data", (chunk: Buffer) => {
      read(chunk);
      const { pauseMs } = wire.inflow;
      if (pauseMs === 0 || child.exitCode !== null || child.signalCode !== null) return;
      stream.pause();
      cancelWait = clock.in(pauseMs, () => stream.resume());
    });
    child.once("exit", () => {
      cancelWait();
      stream.resume(); // it can send nothing more, and its pipe must be read to its end
    });
  }

  #read(chunk: Buffer): void {
    for (const line of this.#lines.take(chunk)) for (const message of this.#heard(line)) this.#deliver(message);
  }

  #heard(line: BoundedLine): readonly JsonObject[] {
    if (!("parts" in line)) {
      const id = answeredIn(line.begin.toString("latin1"), line.end.toString("latin1"));
      if (id === undefined) return [];
      const exchange = this.#pending.exchange(id);
      if (exchange !== undefined) exchange.tooLarge = true;
      return [tooLargeError(id, this.#parts.limitBytes)];
    }
    const [only] = line.parts;
    if (only === undefined) return [];
    const bytes = line.parts.length === 1 ? only : Buffer.concat(line.parts);
    const { wire } = this.#parts;
    if (bytes.length <= largeBytes) return wire.hear(bytes, this.#pending).messages;
    void wire.hearLarge(bytes, this.#pending).then(({ messages }) => {
      for (const message of messages) this.#deliver(message);
    });
    return [];
  }

  #deliver(message: JsonObject): void {
    const { id, method } = message;
    if (method === undefined && (typeof id === "number" || typeof id === "string")) this.#pending.forget(id);
    const read = message as unknown as JSONRPCMessage; // read as one
    // The SDK hears a notification one step later than an answer, and progress behind its answer is lost.
    if (method === undefined) queueMicrotask(() => this.onmessage?.(read));
    else this.onmessage?.(read);
  }
}
