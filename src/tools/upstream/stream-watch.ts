import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../calls/clock.ts";
import { isJsonObject } from "../../calls/json.ts";
import type { HeldJson } from "../json-in-slices.ts";
import { boundedBody } from "./bounded-body.ts";

/** How long a stream that can be resumed (its events have ids) may be gone before the call counts as lost. */
const resumeWithinMs = 10_000;
const settleMs = 100;

/**
 * What became of one call's HTTP exchange. The SDK forgets a call whose answer stream breaks: it would wait until its
 * timeout. This sees the stream end, and says so.
 */
export class Exchange {
  /** Whether a request has been handed to the network. */
  sent = false;
  /** Its answer came, and was not read. */
  tooLarge = false;
  readonly #clock: Clock;
  readonly #onSuspect: () => void;
  readonly #onBroken: () => void;
  #held: HeldJson | undefined;
  #open = 0;
  #over = false;
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
    let resumable = false;
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        try {
          const { value, done } = await reader.read();
          if (done) {
            controller.close();
            this.#ended(resumable);
          } else {
            resumable ||= Buffer.from(value).includes("id:");
            controller.enqueue(value);
          }
        } catch (error) {
          controller.error(error);
          this.#ended(resumable);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
  }

  /** What was left out of its answer. */
  get held(): HeldJson | undefined {
    return this.#held;
  }

  hold(held: HeldJson): void {
    this.#held = held;
  }

  /** The call has ended, well or not. */
  end(): void {
    this.#over = true;
    this.#cancelWait?.();
  }

  #ended(resumable: boolean): void {
    this.#open -= 1;
    // Not at once: what the last bytes said is still on its way through the SDK's parser.
    this.#later(settleMs, () => {
      this.#onSuspect();
      if (resumable) this.#later(resumeWithinMs, this.#onBroken);
      else this.#onBroken();
    });
  }

  /** Unless the call is over, or another stream goes on with it, by then. */
  #later(ms: number, then: () => void): void {
    if (this.#over || this.#open > 0) return;
    this.#cancelWait = this.#clock.in(ms, () => {
      if (!this.#over && this.#open === 0) then();
    });
  }
}

const current = new AsyncLocalStorage<Exchange>();

/** Everything the SDK fetches on behalf of `body` belongs to this exchange, later resumptions included. */
export function within<T>(exchange: Exchange, body: () => Promise<T>): Promise<T> {
  return current.run(exchange, body);
}

/** `fetch`, watched, with no message above `limitBytes`. Requests outside an exchange are bounded alone. */
export function watchedFetch(limitBytes: number): typeof fetch {
  return async (url, init) => {
    const exchange = current.getStore();
    if (exchange !== undefined) exchange.sent = true;
    const response = await fetch(url, init);
    const { body, headers, status, statusText } = response;
    if (body === null || (status >= 300 && status < 400)) return response; // where a redirect leads, the SDK asks the response itself
    const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
    const bounded = boundedBody(body, {
      limitBytes,
      isStream,
      request: () => requestIn(init?.body),
      onTooLarge: () => {
        if (exchange !== undefined && response.ok) exchange.tooLarge = true;
      },
      ...(exchange !== undefined && response.ok && { onHeld: (held) => exchange.hold(held) }),
    });
    const followed = exchange === undefined || !isStream ? bounded : exchange.follow(bounded);
    return new Response(followed, { headers, status, statusText });
  };
}

/** The body is the SDK's own JSON; a request without one only listens. */
function requestIn(body: unknown): number | string | undefined {
  if (typeof body !== "string") return undefined;
  const message: unknown = JSON.parse(body);
  const id = isJsonObject(message) ? message["id"] : undefined;
  return typeof id === "number" || typeof id === "string" ? id : undefined;
}
