/**
 * The exchange of frames with one sandbox, over the pipe of a process, a machine's vsock or a pod's WebSocket.
 *
 * Invariant: every frame bears the token of the current script, and the host keeps only answers to its questions. A frame of
 * another script, or more frames than questions, ends the exchange.
 */
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../core/json.ts";
import { encodeFrame } from "./encode-frame.ts";
import { type FrameLimits, FrameReader } from "./frames.ts";
import { type FrameBounds, LargeFrame } from "./large-frame.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

/** What a sandbox sent: a frame, or that it ended. */
export type ReceivedFrame =
  | { readonly heard: "frame"; readonly frame: JsonObject }
  | { readonly heard: "broken"; readonly message: string }
  /** `isShort`: the kernel ended it because it used too much memory. */
  | { readonly heard: "ended"; readonly message: string; readonly isShort?: boolean };

/** The host's side of a sandbox. */
export interface SandboxEnd {
  /** Undefined when it runs on another machine. That machine limits processor time and memory; the host watches the clock. */
  readonly pid?: number | undefined;
  /** Whether it sent a frame without a question. */
  readonly hasMore: boolean;
  /** Resolves when nothing of it is left on this host. */
  readonly gone: Promise<void>;
  /** Sets the kernel's memory limit where one can be set. The host watches the memory in any case. */
  bound?(memoryBytes: number): void;
  /** Sets how large values in its frames may be, from the next frame on. */
  boundFrames?(bounds: FrameBounds): void;
  send(message: JsonObject): void;
  /** The next frame. After the end it always returns the end. */
  receive(): Promise<ReceivedFrame>;
  kill(): void;
}

/** The most frames that are kept unread. A sandbox that sends more is ended. */
const mostUnasked = 2;

export class FrameLine {
  #token = newToken();
  readonly #heard: (ReceivedFrame | Promise<ReceivedFrame>)[] = [];
  readonly #reader: FrameReader;
  readonly #carrier: { write(bytes: Buffer): void; kill(): void };
  #waiting: ((heard: ReceivedFrame | Promise<ReceivedFrame>) => void) | undefined;
  #last: ReceivedFrame | undefined;

  constructor(frames: FrameLimits, carrier: { write(bytes: Buffer): void; kill(): void }) {
    this.#reader = new FrameReader(frames);
    this.#carrier = carrier;
  }

  get hasMore(): boolean {
    return this.#heard.length > 0;
  }

  send(message: JsonObject): void {
    if (this.#last === undefined) this.#carrier.write(encodeFrame({ ...message, token: this.#token }));
  }

  /** A new token for the next script: frames with the old one belong to the last script. */
  renew(): void {
    this.#token = newToken();
  }

  bound(bounds: FrameBounds): void {
    this.#reader.bound(bounds);
  }

  receive(): Promise<ReceivedFrame> {
    const next = this.#heard.shift() ?? this.#last;
    if (next !== undefined) return Promise.resolve(next);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Takes bytes from the sandbox. */
  read(chunk: Buffer): void {
    if (this.#last !== undefined) return;
    try {
      for (const frame of this.#reader.push(chunk)) {
        if (this.#heard.length >= mostUnasked)
          throw new ProtocolBroken("The sandbox sent a frame without being asked.");
        this.#deliver(frame instanceof LargeFrame ? this.#parsed(frame, this.#token) : opened(frame, this.#token));
      }
    } catch (error) {
      this.#broke(error);
    }
  }

  async #parsed(frame: LargeFrame, token: string): Promise<ReceivedFrame> {
    try {
      return opened(await frame.parsed(), token);
    } catch (error) {
      return this.#broke(error);
    }
  }

  #broke(error: unknown): ReceivedFrame {
    if (!(error instanceof ProtocolBroken)) throw error;
    const heard = { heard: "broken", message: error.message } as const;
    this.end(heard);
    this.#carrier.kill();
    return heard;
  }

  /** The first end counts. */
  end(heard: ReceivedFrame): void {
    if (this.#last !== undefined) return;
    this.#last = heard;
    if (this.#waiting !== undefined) this.#deliver(heard);
  }

  #deliver(heard: ReceivedFrame | Promise<ReceivedFrame>): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#heard.push(heard);
    else waiting(heard);
  }
}

/** @throws ProtocolBroken */
function opened({ token, ...frame }: JsonObject, ours: string): ReceivedFrame {
  if (token !== ours) throw new ProtocolBroken("A frame bears another script's token.");
  return { heard: "frame", frame };
}

function newToken(): string {
  return randomBytes(32).toString("base64url");
}
