import type { Clock, JsonObject } from "@postern/core";
import type { ClientOfCall } from "../../call/client-of-call.ts";
import type { LargeJson } from "../../results/large-json.ts";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { withEndCallback } from "./bounded-body.ts";

/** A stream that can be resumed may be gone this long, beyond the time its server asked for, before the call counts as lost. */
const resumeWithinMs = 10_000;
const settleMs = 100;

/**
 * One `tools/call` on the connection: what was sent, and what came back beside the result. When an answer's stream breaks, the
 * SDK's transport waits; this class sees the stream end.
 */
export class Exchange {
  /** Whether a request has been handed to the network. */
  sent = false;
  /** Its answer was too large, and was not read. */
  tooLarge = false;
  /** The result that the server sent, unchecked. */
  result: JsonObject | undefined;
  /** The structured content of its answer, if the worker thread read it. */
  large: LargeJson | undefined;
  /** The client that waits for the call. */
  readonly client: ClientOfCall | undefined;
  /** Why its answer cannot be read. */
  unreadable: string | undefined;
  /** The JSON-RPC error that the server sent. */
  refused: UpstreamRpcError | undefined;
  /** Members of its answer in which a text replaces a number. */
  asText: readonly string[] = [];
  /** When the server takes calls again, in milliseconds of the wall clock. */
  resetsAt: number | undefined;
  /** The last event of its stream that had an id, from which the stream can be resumed. */
  lastEventId: string | undefined;
  readonly #clock: Clock;
  readonly #onSuspect: () => void;
  readonly #onBroken: () => void;
  #open = 0;
  #over = false;
  #retryMs = 0;
  #cancelWait: (() => void) | undefined;

  /**
   * @param onSuspect the stream ended without an answer: is the server still there?
   * @param onBroken no answer will come
   */
  constructor(clock: Clock, onSuspect: () => void, onBroken: () => void, client?: ClientOfCall) {
    this.client = client;
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
      if (this.lastEventId !== undefined) this.#waitForStream();
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

/** The own requests of one connection that have no answer yet. Tool calls have an exchange; other requests do not. */
export class PendingRequests {
  readonly #requests = new Map<number | string, Exchange | undefined>();
  /** Calls whose stream can be resumed, by the id of its last event. */
  readonly #byEvent = new Map<string, Exchange>();

  /** Calls whose server asks something, by the id of its request: over HTTP it comes on the stream of the call. */
  readonly #asking = new Map<number | string, Exchange>();

  /** A request of the server came on the stream of this call. */
  asks(id: number | string, exchange: Exchange): void {
    this.#asking.set(id, exchange);
  }

  /** The call during which the server asks. Over pipes only a single call can be told. */
  askingCall(id: number | string): Exchange | undefined {
    const known = this.#asking.get(id);
    this.#asking.delete(id);
    return known ?? this.call();
  }

  readonly call = (): Exchange | undefined => {
    let only: Exchange | undefined;
    for (const exchange of this.#requests.values()) {
      if (exchange === undefined) continue;
      if (only !== undefined) return undefined;
      only = exchange;
    }
    return only;
  };

  begin(id: number | string, exchange: Exchange | undefined): void {
    this.#requests.set(id, exchange);
  }

  /** The request was not sent, or was answered or cancelled. */
  readonly end = (id: number | string): void => {
    const lastEventId = this.exchange(id)?.lastEventId;
    if (lastEventId !== undefined) this.#byEvent.delete(lastEventId);
    this.#requests.delete(this.#sentId(id));
  };

  readonly only = (): number | string | undefined =>
    this.#requests.size === 1 ? [...this.#requests.keys()][0] : undefined;

  readonly isAwaited = (id: number | string): boolean => this.#requests.has(this.#sentId(id));

  readonly exchange = (id: number | string): Exchange | undefined => this.#requests.get(this.#sentId(id));

  /** The call whose stream is requested again after this event. */
  resumed(eventId: string): Exchange | undefined {
    const exchange = this.#byEvent.get(eventId);
    this.#byEvent.delete(eventId);
    return exchange;
  }

  /** An event of the call's stream had an id: the stream can be resumed from there. */
  resumable(exchange: Exchange, eventId: string): void {
    if (exchange.lastEventId !== undefined) this.#byEvent.delete(exchange.lastEventId);
    exchange.lastEventId = eventId;
    this.#byEvent.set(eventId, exchange);
  }

  /** A server may answer `"7"` to 7. */
  #sentId(id: number | string): number | string {
    return this.#requests.has(id) ? id : Number(id);
  }
}
