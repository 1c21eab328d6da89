/**
 * One conversation in frames, whatever carries it: the pipe of a process, a machine's vsock, a pod's WebSocket.
 *
 * Invariant: every frame in either direction bears the token of the script that has the line, and nothing is kept that nobody
 * asked for; so what another chain's sandbox says, or one that never stops saying it, ends the line.
 */
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../../calls/json.ts";
import { encodeFrame } from "./encode-frame.ts";
import { type FrameLimits, FrameReader } from "./frames.ts";
import { type FrameBounds, LargeFrame } from "./large-frame.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

/** What comes from a sandbox: a frame, or that nothing comes any more. */
export type Heard =
  | { readonly heard: "frame"; readonly frame: JsonObject }
  | { readonly heard: "broken"; readonly message: string }
  /** `isShort`: the kernel ended it for want of memory. */
  | { readonly heard: "ended"; readonly message: string; readonly isShort?: boolean };

/** The host's end of a script's sandbox, wherever that is. */
export interface SandboxEnd {
  /** Undefined: it runs elsewhere. Processor time and memory are limits of the place then; from here the clock is watched. */
  readonly pid?: number | undefined;
  /** Whether it said anything that nobody asked for. */
  readonly hasMore: boolean;
  /** Settles when nothing of it is left here. */
  readonly gone: Promise<void>;
  /** All it may have, a script included, where the kernel can be told so; the host looks all the same. */
  bound?(memoryBytes: number): void;
  /** What of its frames is let go, from the next one on. */
  boundFrames?(bounds: FrameBounds): void;
  send(message: JsonObject): void;
  /** The next frame. Once it is over, always that. */
  receive(): Promise<Heard>;
  kill(): void;
}

/** Frames nobody has asked for yet; one that says more is not kept in memory but ended. */
const mostUnasked = 2;

export class FrameLine {
  #token = newToken();
  readonly #heard: (Heard | Promise<Heard>)[] = [];
  readonly #reader: FrameReader;
  readonly #carrier: { write(bytes: Buffer): void; kill(): void };
  #waiting: ((heard: Heard | Promise<Heard>) => void) | undefined;
  #last: Heard | undefined;

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

  /** Another script is on it: what is said with the old token is another chain's. */
  renew(): void {
    this.#token = newToken();
  }

  bound(bounds: FrameBounds): void {
    this.#reader.bound(bounds);
  }

  receive(): Promise<Heard> {
    const next = this.#heard.shift() ?? this.#last;
    if (next !== undefined) return Promise.resolve(next);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Bytes that came. */
  read(chunk: Buffer): void {
    if (this.#last !== undefined) return;
    try {
      for (const frame of this.#reader.push(chunk)) {
        if (this.#heard.length >= mostUnasked) throw new ProtocolBroken("The sandbox spoke without being asked.");
        this.#deliver(frame instanceof LargeFrame ? this.#parsed(frame, this.#token) : opened(frame, this.#token));
      }
    } catch (error) {
      this.#broke(error);
    }
  }

  async #parsed(frame: LargeFrame, token: string): Promise<Heard> {
    try {
      return opened(await frame.parsed(), token);
    } catch (error) {
      return this.#broke(error);
    }
  }

  #broke(error: unknown): Heard {
    if (!(error instanceof ProtocolBroken)) throw error;
    const heard = { heard: "broken", message: error.message } as const;
    this.end(heard);
    this.#carrier.kill();
    return heard;
  }

  /** The first end stays the end. */
  end(heard: Heard): void {
    if (this.#last !== undefined) return;
    this.#last = heard;
    if (this.#waiting !== undefined) this.#deliver(heard);
  }

  #deliver(heard: Heard | Promise<Heard>): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#heard.push(heard);
    else waiting(heard);
  }
}

/** @throws ProtocolBroken */
function opened({ token, ...frame }: JsonObject, ours: string): Heard {
  if (token !== ours) throw new ProtocolBroken("A frame bears another chain's token.");
  return { heard: "frame", frame };
}

function newToken(): string {
  return randomBytes(32).toString("base64url");
}
