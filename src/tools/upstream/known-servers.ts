import type { Clock } from "../../calls/clock.ts";
import { digestOf, isJsonObject } from "../../calls/json.ts";
import type { Store } from "../../stores/store.ts";
import type { ServerConfig } from "./server-config.ts";

const kind = "mcp_server";

/**
 * Which servers were connected before, over restarts of Postern: what a server lists at its first connection is trusted as
 * it is first seen, and what it adds later is not.
 */
export class KnownServers {
  readonly #store: Pick<Store, "commit" | "documents">;
  readonly #clock: Clock;

  constructor(store: Pick<Store, "commit" | "documents">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Another program or address under the same name is another server. */
  async knows(server: string, config: ServerConfig): Promise<boolean> {
    const { body } = (await this.#store.documents.get(kind, server)) ?? {};
    return body !== undefined && isJsonObject(body) && body["address"] === addressDigest(config);
  }

  /** @throws what the store throws: then its tools are trusted once more at its next connection */
  async keep(server: string, config: ServerConfig): Promise<void> {
    const { version = 0 } = (await this.#store.documents.get(kind, server)) ?? {};
    const body = { at: this.#clock.now(), address: addressDigest(config) };
    await this.#store.commit({ write: "document", kind, id: server, body, expectedVersion: version }, "committed");
  }
}

function addressDigest({ command = "", args = [], cwd = "", url = "" }: ServerConfig): string {
  return digestOf([command, [...args], cwd, url]);
}
