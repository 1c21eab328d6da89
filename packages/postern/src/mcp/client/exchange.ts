import { AsyncLocalStorage } from "node:async_hooks";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { Clock, JsonObject } from "@postern/core";
import type { LargeJson } from "../../results/large-json.ts";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { withEndCallback } from "./bounded-body.ts";

/** A stream that can be resumed may be gone this long, beyond the time its server asked for, before the call counts as lost. */
const resumeWithinMs = 10_000;
const settleMs = 100;

/**
 * One `tools/call` on the connection: what was sent, and what came back beside the result that the SDK returns. When an
 * answer's stream breaks, the SDK would wait until its timeout; this class sees the stream end.
 */
export class Exchange {
  /** Whether a request has been handed to the network. */
  sent = false;
  /** Its answer was too large, and was not read. */
  tooLarge = false;
  /** The result that the server sent, unchecked: the SDK refuses a whole result for one block that it does not know. */
  result: JsonObject | undefined;
  /** The structured content of its answer, if the worker thread read it. */
  large: LargeJson | undefined;
  /** Why its answer cannot be read. */
  unreadable: string | undefined;
  /** The JSON-RPC error that the server sent. */
  refused: UpstreamRpcError | undefined;
  /** Members of its answer in which a text replaces a number. */
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

  /** Its request is handed to the network. An earlier refusal was of an earlier attempt. */
  sending(): void {
    this.sent = true;
    this.refused = undefined;
  }

  follow(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    this.#open += 1;
    this.#cancelWait?.();
    return withEndCallback(body, () => this.#ended());
  }

  /** An event of its stream had an id: the stream can be resumed. */
  resumable(): void {
    this.#isResumable = true;
  }

  /** The server asked to wait this long before its stream is resumed. */
  retryAfter(ms: number): void {
    this.#retryMs = ms;
  }

  /** Its stream is requested again. */
  resuming(): void {
    if (this.#cancelWait !== undefined) this.#waitForStream();
  }

  /** The call has ended, in success or failure. */
  end(): void {
    this.#over = true;
    this.#cancelWait?.();
  }

  #ended(): void {
    this.#open -= 1;
    // The SDK's parser still has the last bytes, so this waits.
    this.#later(settleMs, () => {
      this.#onSuspect();
      if (this.#isResumable) this.#waitForStream();
      else this.#onBroken();
    });
  }

  #waitForStream(): void {
    this.#later(this.#retryMs + resumeWithinMs, this.#onBroken);
  }

  /** Does nothing if the call is over by then, or another stream continues it. */
  #later(ms: number, then: () => void): void {
    this.#cancelWait?.();
    if (this.#over || this.#open > 0) return;
    this.#cancelWait = this.#clock.in(ms, () => {
      if (!this.#over && this.#open === 0) then();
    });
  }
}

const current = new AsyncLocalStorage<Exchange>();

/** Everything that the SDK sends while `body` runs belongs to this exchange, later resumptions included. */
export function withExchange<T>(exchange: Exchange, body: () => Promise<T>): Promise<T> {
  return current.run(exchange, body);
}

/** The exchange of the code that runs now. */
export function currentExchange(): Exchange | undefined {
  return current.getStore();
}

/** The exchange to which a message of this method belongs. A ping or a list during a call belongs to none. */
export function exchangeOf(method: string): Exchange | undefined {
  return method === "tools/call" ? currentExchange() : undefined;
}

/** The requests of one connection that have no answer yet, for transports that receive all answers on one stream. */
export class PendingRequests {
  /** Calls have an exchange; other requests do not. */
  readonly #requests = new Map<number | string, Exchange | undefined>();

  /** Call it before the message is sent, in the context of its exchange. */
  sending(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    const cancelled = message.method === "notifications/cancelled" && message.params?.["requestId"];
    if (typeof cancelled === "number" || typeof cancelled === "string") this.#requests.delete(cancelled);
    if ("id" in message) this.#requests.set(message.id, exchangeOf(message.method));
  }

  /** The request was not sent, or its answer was passed on. */
  readonly answered = (id: number | string): void => void this.#requests.delete(this.#sentId(id));

  readonly only = (): number | string | undefined =>
    this.#requests.size === 1 ? [...this.#requests.keys()][0] : undefined;

  readonly isAwaited = (id: number | string): boolean => this.#requests.has(this.#sentId(id));

  readonly exchange = (id: number | string): Exchange | undefined => this.#requests.get(this.#sentId(id));

  /** A server may answer `"7"` to 7. */
  #sentId(id: number | string): number | string {
    return this.#requests.has(id) ? id : Number(id);
  }
}
