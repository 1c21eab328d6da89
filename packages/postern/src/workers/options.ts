import type { NatsSettings } from "./nats.ts";
import type { OpenOrder } from "./order-tokens.ts";
import type { KnownWorker } from "./presence.ts";

/** One group of workers, and which tools run on it. */
export interface WorkerGroup {
  /** Names, or patterns with `*`. */
  readonly tools?: readonly string[];
  /** Tools that need one of these permissions; `*` is any text. */
  readonly permissions?: readonly string[];
  /** The workers of the group: names of `keys`. */
  readonly workers: readonly string[];
}

/** How a gateway sends calls to workers. */
export interface WorkersOptions {
  readonly nats: NatsSettings;
  /** Public keys of the workers, by name. */
  readonly keys: Readonly<Record<string, string>>;
  readonly groups: Readonly<Record<string, WorkerGroup>>;
  /** Where workers reach this gateway over HTTP. Without it, they can use no artifacts and return no large results. */
  readonly url?: () => string | undefined;
  /** A call whose worker is silent for so long is unknown. Default: 10,000. */
  readonly leaseMs?: number;
  /** Calls of one group that wait for a free worker. Default: 256. */
  readonly maxWaiting?: number;
}

/** The workers of a running gateway. */
export interface RemoteWorkers {
  /** Those that are connected. */
  readonly workers: readonly KnownWorker[];
  /** What the holder of an order's token may do. Returns undefined when the call is over, and for other tokens. */
  order(token: string): OpenOrder | undefined;
}
