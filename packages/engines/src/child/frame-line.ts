/**
 * The exchange of frames with one sandbox, over the pipe of a process, a machine's vsock or a pod's WebSocket.
 *
 * Invariant: every frame bears the token of the current script, and the host keeps only answers to its questions. A frame of
 * another script, or more frames than questions, ends the exchange.
 */
import { randomBytes } from "node:crypto";
import type { JsonObject } from "@postern/core";
import { type FrameLimits, FrameReader, frameOf, ProtocolBroken } from "./frames.ts";

/** What a sandbox sent: a frame, or that it ended. */
export type ReceivedFrame =
  | { readonly kind: "frame"; readonly frame: JsonObject; readonly bytes: number; readonly values: number }
  | { readonly kind: "broken"; readonly message: string }
  /** `isShort`: the kernel ended it because it used too much memory. */
  | { readonly kind: "ended"; readonly message: string; readonly isShort?: boolean };

/** The host's side of a sandbox. */
export interface SandboxEnd {
  /** Undefined when it runs on another machine. That machine limits processor time and memory; the host watches the clock. */
  readonly pid?: number | undefined;
  /** Whether it sent a frame without a question. */
  readonly hasUnaskedFrame: boolean;
  /** Resolves when nothing of it is left on this host. */
  readonly gone: Promise<void>;
  /** Sets the kernel's memory limit where one can be set. The host watches the memory in any case. */
  limitMemory?(memoryBytes: number): void;
  send(message: JsonObject): void;
  /** The next frame. After the end it always returns the end. */
  receive(): Promise<ReceivedFrame>;
  kill(): void;
}

/** The connection to a sandbox. */
export interface FrameCarrier {
  write(bytes: Buffer): void;
  kill(): void;
}

/** The most frames that are kept unread. A sandbox that sends more is ended. */
const mostUnasked = 2;

export class FrameLine {
  #token = newToken();
  readonly #unread: ReceivedFrame[] = [];
  readonly #reader: FrameReader;
  readonly #carrier: FrameCarrier;
  #waiting: ((received: ReceivedFrame) => void) | undefined;
  #end: ReceivedFrame | undefined;

  constructor(frames: FrameLimits, carrier: FrameCarrier) {
    this.#reader = new FrameReader(frames);
    this.#carrier = carrier;
  }

  get hasUnaskedFrame(): boolean {
    return this.#unread.length > 0;
  }

  send(message: JsonObject): void {
    if (this.#end === undefined) this.#carrier.write(frameOf(JSON.stringify({ ...message, token: this.#token })));
  }

  /** Makes a new token for the next script: frames with the old one belong to the last script. */
  renew(): void {
    this.#token = newToken();
  }

  receive(): Promise<ReceivedFrame> {
    const next = this.#unread.shift() ?? this.#end;
    if (next !== undefined) return Promise.resolve(next);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Takes bytes from the sandbox. */
  read(chunk: Buffer): void {
    if (this.#end !== undefined) return;
    try {
      for (const { message, bytes, values } of this.#reader.push(chunk)) {
        const { token, ...frame } = message;
        if (this.#unread.length >= mostUnasked) throw new ProtocolBroken(unaskedFrame);
        if (token !== this.#token) throw new ProtocolBroken("A frame bears another script's token.");
        this.#deliver({ kind: "frame", frame, bytes, values });
      }
    } catch (error) {
      if (!(error instanceof ProtocolBroken)) throw error;
      this.end({ kind: "broken", message: error.message });
      this.#carrier.kill();
    }
  }

  /** The first end counts. */
  end(end: ReceivedFrame): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    if (this.#waiting !== undefined) this.#deliver(end);
  }

  #deliver(received: ReceivedFrame): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#unread.push(received);
    else waiting(received);
  }
}

export const unaskedFrame = "The sandbox sent a frame without being asked.";

function newToken(): string {
  return randomBytes(32).toString("base64url");
}
