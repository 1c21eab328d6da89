import type { Clock } from "../../core/clock.ts";
import { digestOf, isJsonObject, type Json } from "../../core/json.ts";
import { Collection } from "../../store/collection.ts";
import type { Store } from "../../store/store.ts";
import type { ServerConfig } from "./server-config.ts";

/**
 * Which servers were connected before, over restarts of Postern: what a server lists at its first connection is trusted as
 * it is first seen, and what it adds later is not.
 */
export class KnownServers {
  readonly #servers: Collection<Json>;
  readonly #clock: Clock;

  constructor(store: Pick<Store, "commit" | "documents">, clock: Clock) {
    this.#servers = new Collection({ store, kind: "mcp_server", read: (body) => body });
    this.#clock = clock;
  }

  /** Another program or address under the same name is another server. */
  async knows(server: string, config: ServerConfig): Promise<boolean> {
    const body = await this.#servers.get(server);
    return body !== undefined && isJsonObject(body) && body["address"] === addressDigest(config);
  }

  /** @throws what the store throws: then its tools are trusted once more at its next connection */
  async keep(server: string, config: ServerConfig): Promise<void> {
    const item = { at: this.#clock.now(), address: addressDigest(config) };
    await this.#servers.change(server, () => ({ item }));
  }
}

function addressDigest({ command = "", args = [], cwd = "", url = "" }: ServerConfig): string {
  return digestOf([command, [...args], cwd, url]);
}
