/** A sandbox on another machine, over a vsock or a pod's WebSocket. It exchanges the same frames as a child process. */
import { type JsonObject, SystemClock } from "@postern/core";
import { FrameLine, type ReceivedFrame, type SandboxEnd } from "./frame-line.ts";
import type { FrameLimits } from "./frames.ts";
import { type PoolOptions, SandboxPool } from "./pool.ts";

/** The connection to a remote sandbox. */
export interface Carrier {
  write(bytes: Buffer): void;
  /** Closes the connection and starts to remove the sandbox. */
  close(): void;
  /** Whether the connection keeps this process alive. */
  hold(isHeld: boolean): void;
}

/** Receives what a connection reports. */
export interface RemoteListener {
  read(chunk: Buffer): void;
  ended(message: string): void;
}

export interface RemoteTerms {
  readonly frames: FrameLimits;
  /** Milliseconds from the connection until it must be ready. */
  readonly startMs: number;
  /** The longest idle time: the cluster ends a pod at a fixed age, which must not come during a script. */
  readonly restMs?: number;
}

const clock = new SystemClock(); // starting takes real time

export class RemoteEnd implements SandboxEnd {
  readonly gone: Promise<void>;
  readonly #line: FrameLine;
  readonly #terms: RemoteTerms;
  readonly #leave: () => void;
  #carrier: Carrier | undefined;
  #isOver = false;
  #cancelRest: (() => void) | undefined;

  private constructor(terms: RemoteTerms) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gone = promise;
    this.#leave = resolve;
    this.#terms = terms;
    const write = (bytes: Buffer): void => this.#carrier?.write(bytes);
    this.#line = new FrameLine(terms.frames, { write, kill: () => this.kill() });
  }

  /** @param connect removes what it created before it throws */
  static async open(terms: RemoteTerms, connect: (listener: RemoteListener) => Promise<Carrier>): Promise<RemoteEnd> {
    const end = new RemoteEnd(terms);
    const carrier = await connect({
      read: (chunk) => end.#line.read(chunk),
      ended: (message) => end.#end(message),
    });
    end.#carrier = carrier;
    if (end.#isOver) carrier.close(); // it ended during the start
    const inTime = clock.in(terms.startMs, () => end.#end(`It was not ready within ${terms.startMs} ms.`));
    end.send({ do: "ready" });
    const answer = await end.receive();
    inTime();
    if (answer.kind === "frame" && answer.frame["ready"] === true) return end;
    end.kill();
    throw new Error(
      `A sandbox did not start. ${answer.kind === "frame" ? "Its first answer was wrong." : answer.message}`,
    );
  }

  get hasUnaskedFrame(): boolean {
    return this.#line.hasUnaskedFrame;
  }

  send(message: JsonObject): void {
    this.#line.send(message);
  }

  receive(): Promise<ReceivedFrame> {
    return this.#line.receive();
  }

  kill(): void {
    this.#end("The sandbox was stopped.");
  }

  idle(isIdle: boolean): void {
    this.#cancelRest?.();
    const { restMs } = this.#terms;
    this.#cancelRest = isIdle && restMs !== undefined ? clock.in(restMs, () => this.kill(), false) : undefined;
    this.#carrier?.hold(!isIdle);
  }

  /** Does not wait for the other side: a dead connection would never answer. */
  #end(message: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelRest?.();
    this.#line.end({ kind: "ended", message });
    this.#carrier?.close();
    this.#leave();
  }
}

/** @param closing is aborted when the engine closes: what is being opened then is not used */
type OpenRemote = (mebibytes: number, closing: AbortSignal) => Promise<RemoteEnd>;

const mebibyte = 1024 * 1024;

/** One pool for each amount of memory, because a remote sandbox gets its memory when it is created. */
export class RemotePools implements AsyncDisposable {
  readonly #open: OpenRemote;
  readonly #options: PoolOptions;
  readonly #pools = new Map<number, SandboxPool<RemoteEnd>>();
  readonly #closing = new AbortController();

  constructor(open: OpenRemote, options: PoolOptions) {
    this.#open = open;
    this.#options = options;
  }

  of(bytes: number): SandboxPool<RemoteEnd> {
    const mebibytes = Math.ceil(bytes / mebibyte);
    const known = this.#pools.get(mebibytes);
    if (known !== undefined) return known;
    const pool = new SandboxPool({ start: () => this.#open(mebibytes, this.#closing.signal) }, this.#options);
    this.#pools.set(mebibytes, pool);
    return pool;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("The sandboxes are closed."));
    await Promise.all([...this.#pools.values()].map((pool) => pool[Symbol.asyncDispose]()));
  }
}
