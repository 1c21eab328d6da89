import { type Clock, defined, type Json, messageOf } from "@postern/core";
import type { Servers } from "../../mcp/client/servers.ts";
import type { Alarm } from "../../observe/alarms/alarms.ts";
import { Collection } from "../../store/collection.ts";
import type { Store } from "../../store/store.ts";
import type { Health } from "../api/api.ts";

const probeEveryMs = 2_000;
const probeLimitMs = 5_000;

/** Checks by writing whether the store accepts writes, because only a write shows a full disk or a read-only file. */
export class WriteProbe {
  readonly #probes: Collection<Json>;
  readonly #clock: Clock;
  #last: { readonly at: number; readonly problem: Promise<string | undefined> } | undefined;

  constructor(store: Pick<Store, "commit" | "documents">, clock: Clock) {
    this.#probes = new Collection({ store, kind: "health", read: (body) => body });
    this.#clock = clock;
  }

  /** Resolves to the reason when a write fails or hangs. It writes at most once in two seconds. */
  problem(): Promise<string | undefined> {
    const at = this.#clock.monotonic();
    if (this.#last === undefined || at - this.#last.at >= probeEveryMs) this.#last = { at, problem: this.#probe() };
    return this.#last.problem;
  }

  #probe(): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const giveUp = (): void => resolve(`The store did not answer a write within ${probeLimitMs} ms.`);
    const cancel = this.#clock.in(probeLimitMs, giveUp, false);
    this.#write()
      .then(() => resolve(undefined))
      .catch((error: unknown) => resolve(`The store refuses writes: ${messageOf(error)}`))
      .finally(cancel);
    return promise;
  }

  async #write(): Promise<void> {
    const item = { at: this.#clock.now() };
    await this.#probes.change("probe", () => ({ item, durability: "synced" }));
  }
}

/**
 * What works and what does not, without requests that could hang. The store is broken as long as its alarm is: on a full
 * disk a small write can still succeed while calls are refused.
 */
export function healthOf(
  { broken }: Pick<Store, "broken">,
  alarm: Pick<Alarm, "state" | "summary"> | undefined,
  servers: Servers | undefined,
  tools: number,
): Health {
  const problem = broken?.message ?? (alarm === undefined || alarm.state === "resolved" ? undefined : alarm.summary);
  return {
    status: problem === undefined ? "ok" : "broken",
    ...defined({ problem }),
    tools,
    servers: (servers?.status() ?? []).map(({ tools: _tools, ...server }) => server),
  };
}
