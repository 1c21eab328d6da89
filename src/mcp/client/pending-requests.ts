import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { currentExchange, type Exchange } from "./exchange.ts";
import type { AwaitedRequests } from "./server-wire.ts";

/** The requests of one connection that have no answer yet, where all answers come on one stream. */
export class PendingRequests implements AwaitedRequests {
  /** Calls with their exchange. */
  readonly #requests = new Map<number | string, Exchange | undefined>();

  /** Call it before the message is sent, in the context of its exchange. */
  sending(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    const cancelled = message.method === "notifications/cancelled" && message.params?.["requestId"];
    if (typeof cancelled === "number" || typeof cancelled === "string") this.#requests.delete(cancelled);
    if ("id" in message) this.#requests.set(message.id, currentExchange());
  }

  /** It was not sent, or its answer was passed on. */
  forget(id: number | string): void {
    this.#requests.delete(this.#sentId(id));
  }

  only(): number | string | undefined {
    return this.#requests.size === 1 ? [...this.#requests.keys()][0] : undefined;
  }

  isAwaited(id: number | string): boolean {
    return this.#requests.has(this.#sentId(id));
  }

  exchange(id: number | string): Exchange | undefined {
    return this.#requests.get(this.#sentId(id));
  }

  /** A server may answer `"7"` to 7. */
  #sentId(id: number | string): number | string {
    return this.#requests.has(id) ? id : Number(id);
  }
}
