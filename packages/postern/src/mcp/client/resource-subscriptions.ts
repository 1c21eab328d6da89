import type { Clock, JsonObject } from "@postern/core";
import type { ResourceListener } from "../../call/client-of-call.ts";
import { RpcFault } from "../protocol/peer.ts";
import { Coalesced } from "./coalesced.ts";
import { refusedCall, type Upstream, type UpstreamAnswer, type UpstreamCall } from "./upstream.ts";

const mostOfServer = 200;
const mostOfListener = 100;

interface FollowedResource {
  readonly listeners: Set<ResourceListener>;
  leave: AbortController;
  ready: Promise<void>;
}

export interface SubscriptionsOptions {
  readonly clock: Clock;
  readonly redact: (params: JsonObject) => JsonObject;
  /** No client follows a resource any more. */
  readonly onEmpty?: () => void;
}

/**
 * The resources of one server that clients follow over one connection, or over those that replace it. The server has one
 * subscription for each, which ends with its last listener.
 */
export class ResourceSubscriptions {
  readonly #server: string;
  readonly #options: SubscriptionsOptions;
  /** By the server's own addresses. */
  readonly #open = new Map<string, FollowedResource>();
  readonly #changed = new Map<string, JsonObject>();
  readonly #telling: Coalesced;

  constructor(server: string, options: SubscriptionsOptions) {
    this.#server = server;
    this.#options = options;
    this.#telling = new Coalesced(options.clock, () => this.#tell());
  }

  get size(): number {
    return this.#open.size;
  }

  /** Sends a call, or begins or ends a subscription if the call asks for that. */
  run(upstream: Upstream, name: string, given: JsonObject, call: UpstreamCall): ReturnType<Upstream["callTool"]> {
    const { method } = call;
    return method === "resources/subscribe" || method === "resources/unsubscribe"
      ? this.#change(upstream, method, String(given["uri"]), call.client?.listener)
      : upstream.callTool(name, given, call);
  }

  async #change(
    upstream: Upstream,
    method: "resources/subscribe" | "resources/unsubscribe",
    uri: string,
    listener: ResourceListener | undefined,
  ): Promise<UpstreamAnswer> {
    if (listener === undefined)
      throw refusedCall("The caller is no MCP client that can be told of changes.", undefined, true);
    if (method === "resources/subscribe") await this.#add(uri, listener, upstream);
    else this.#remove(uri, listener);
    return nothing;
  }

  /** The connection was made again: subscriptions too, and what they follow may have changed meanwhile. */
  connected(upstream: Upstream): void {
    for (const [uri, subscription] of this.#open) {
      subscription.leave.abort();
      this.#subscribe(uri, subscription, upstream);
      subscription.ready.catch((error: unknown) => {
        // Its listeners read it, and learn why. After any other failure the next connection tries again.
        if (error instanceof Error && error.cause instanceof RpcFault) this.#end(uri, subscription);
      });
    }
    if (this.#open.size > 0) this.updated();
  }

  /** @param params without them, any resource may have changed */
  updated(params?: JsonObject): void {
    if (params === undefined) for (const uri of this.#open.keys()) this.#changed.set(uri, { uri });
    else this.#changed.set(String(params["uri"]), this.#options.redact(params));
    this.#telling.changed();
  }

  leave(listener: ResourceListener): void {
    for (const uri of [...this.#open.keys()]) this.#remove(uri, listener);
  }

  close(): void {
    this.#telling.close();
    for (const [uri, subscription] of this.#open) this.#end(uri, subscription);
  }

  async #add(uri: string, listener: ResourceListener, upstream: Upstream): Promise<void> {
    const all = [...this.#open.values()];
    const own = all.filter(({ listeners }) => listeners.has(listener)).length;
    const known = this.#open.get(uri);
    if (known?.listeners.has(listener) !== true && own >= mostOfListener)
      throw tooMany(`This client follows ${own} resources of server \`${this.#server}\` already`);
    if (known === undefined && all.length >= mostOfServer)
      throw tooMany(`${all.length} resources of server \`${this.#server}\` are followed already`);
    const subscription = known ?? this.#opened(uri, upstream);
    subscription.listeners.add(listener);
    listener.followed.add(this);
    try {
      await subscription.ready;
    } catch (error) {
      this.#remove(uri, listener);
      throw error;
    }
    if (listener.isGone) this.#remove(uri, listener);
  }

  #opened(uri: string, upstream: Upstream): FollowedResource {
    const subscription: FollowedResource = {
      listeners: new Set(),
      leave: new AbortController(),
      ready: Promise.resolve(),
    };
    this.#open.set(uri, subscription);
    this.#subscribe(uri, subscription, upstream);
    return subscription;
  }

  #subscribe(uri: string, subscription: FollowedResource, upstream: Upstream): void {
    subscription.leave = new AbortController();
    const onMissed = (): void => this.updated({ uri });
    subscription.ready = Promise.resolve(upstream.subscribe?.(uri, subscription.leave.signal, onMissed));
  }

  #remove(uri: string, listener: ResourceListener): void {
    const subscription = this.#open.get(uri);
    if (subscription?.listeners.delete(listener) === true && subscription.listeners.size === 0)
      this.#end(uri, subscription);
  }

  #end(uri: string, subscription: FollowedResource): void {
    subscription.leave.abort();
    if (this.#open.get(uri) !== subscription) return;
    this.#open.delete(uri);
    if (this.#open.size === 0) this.#options.onEmpty?.();
  }

  /** A server may name a part of a resource that is followed. */
  #tell(): void {
    for (const [changed, params] of this.#changed) {
      const exact = this.#open.get(changed);
      const followed =
        exact === undefined ? [...this.#open].filter(([uri]) => changed.startsWith(uri)) : [[changed, exact] as const];
      const listeners = new Set(followed.flatMap(([, subscription]) => [...subscription.listeners]));
      for (const listener of listeners) listener.updated(this.#server, params);
    }
    this.#changed.clear();
  }
}

const nothing: UpstreamAnswer = { content: [], structured: {}, isError: false };

function tooMany(message: string): Error {
  return refusedCall(`${message}; end some and try again.`, undefined, true);
}
