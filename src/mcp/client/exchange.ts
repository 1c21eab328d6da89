import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../core/clock.ts";
import type { LargeJson } from "../../results/large-json.ts";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { tellingEnd } from "./bounded-body.ts";

/** How long a stream that can be resumed may be gone before the call counts as lost, beyond the time its server asked for. */
const resumeWithinMs = 10_000;
const settleMs = 100;

/**
 * One `tools/call` on the wire: what was sent, and what came back beside the result that the SDK hands on. The SDK also
 * forgets a call whose answer stream breaks and would wait until its timeout; this sees the stream end.
 */
export class Exchange {
  /** Whether a request has been handed to the network. */
  sent = false;
  /** Its answer came, and was not read. */
  tooLarge = false;
  /** The structured content of its answer, when that was read on the worker thread. */
  large: LargeJson | undefined;
  /** What is wrong with its answer, which cannot be read. */
  unreadable: string | undefined;
  /** A JSON-RPC error that came over the wire: the server's own refusal. */
  refused: UpstreamRpcError | undefined;
  /** Members of its answer where a text stands for a number. */
  asText: readonly string[] = [];
  /** When the server takes calls again, in milliseconds of the wall clock. */
  resetsAt: number | undefined;
  readonly #clock: Clock;
  readonly #onSuspect: () => void;
  readonly #onBroken: () => void;
  #open = 0;
  #over = false;
  #isResumable = false;
  #retryMs = 0;
  #cancelWait: (() => void) | undefined;

  /**
   * @param onSuspect the stream ended without an answer: is the server still there?
   * @param onBroken no answer will come
   */
  constructor(clock: Clock, onSuspect: () => void, onBroken: () => void) {
    this.#clock = clock;
    this.#onSuspect = onSuspect;
    this.#onBroken = onBroken;
  }

  follow(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    this.#open += 1;
    this.#cancelWait?.();
    return tellingEnd(body, () => this.#ended());
  }

  /** An event of its stream had an id: the stream can be resumed. */
  resumable(): void {
    this.#isResumable = true;
  }

  /** The server asked to wait so long before its stream is resumed. */
  retryAfter(ms: number): void {
    this.#retryMs = ms;
  }

  /** Its stream is asked for once more. */
  resuming(): void {
    if (this.#cancelWait !== undefined) this.#waitForStream();
  }

  /** The call has ended, well or not. */
  end(): void {
    this.#over = true;
    this.#cancelWait?.();
  }

  #ended(): void {
    this.#open -= 1;
    // Not at once: what the last bytes said is still on its way through the SDK's parser.
    this.#later(settleMs, () => {
      this.#onSuspect();
      if (this.#isResumable) this.#waitForStream();
      else this.#onBroken();
    });
  }

  #waitForStream(): void {
    this.#later(this.#retryMs + resumeWithinMs, this.#onBroken);
  }

  /** Unless the call is over, or another stream goes on with it, by then. */
  #later(ms: number, then: () => void): void {
    this.#cancelWait?.();
    if (this.#over || this.#open > 0) return;
    this.#cancelWait = this.#clock.in(ms, () => {
      if (!this.#over && this.#open === 0) then();
    });
  }
}

const current = new AsyncLocalStorage<Exchange>();

/** Everything the SDK sends on behalf of `body` belongs to this exchange, later resumptions included. */
export function within<T>(exchange: Exchange, body: () => Promise<T>): Promise<T> {
  return current.run(exchange, body);
}

/** Whose exchange is under way here. */
export function currentExchange(): Exchange | undefined {
  return current.getStore();
}
