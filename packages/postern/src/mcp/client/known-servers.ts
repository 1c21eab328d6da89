import { type Clock, isJsonObject, type JsonObject } from "@postern/core";
import { digestOf } from "@postern/core/system";
import { Collection } from "../../store/collection.ts";
import type { Store } from "../../store/store.ts";
import type { LastList } from "./definition.ts";
import type { ServerConfig } from "./server-config.ts";

/** What is known of each server over restarts of Postern. Another program or address under the same name is another server. */
class ServerRecords {
  readonly #records: Collection<JsonObject>;
  readonly #clock: Clock;

  constructor(
    store: Pick<Store, "commit" | "documents">,
    clock: Clock,
    kind: "mcp_server" | "mcp_list" | "mcp_revision",
  ) {
    this.#records = new Collection({ store, kind, read: (body) => (isJsonObject(body) ? body : {}) });
    this.#clock = clock;
  }

  async get(server: string, config: ServerConfig): Promise<JsonObject | undefined> {
    const record = await this.#records.get(server);
    return record?.["address"] === addressDigest(config) ? record : undefined;
  }

  async keep(server: string, config: ServerConfig, more: JsonObject = {}): Promise<void> {
    const item = { at: this.#clock.now(), address: addressDigest(config), ...more };
    await this.#records.change(server, () => ({ item }));
  }
}

export function addressDigest({
  command = "",
  args = [],
  cwd = "",
  url = "",
  openapi,
  baseUrl = "",
}: ServerConfig): string {
  if (openapi !== undefined) return digestOf(["openapi", openapi, baseUrl]);
  return digestOf([command, [...args], cwd, url]);
}

/** Which servers were connected before. What a server lists at its first connection is trusted; what it adds later is not. */
export class KnownServers {
  readonly #records: ServerRecords;
  readonly #lists: ServerRecords;

  constructor(store: Pick<Store, "commit" | "documents">, clock: Clock) {
    this.#records = new ServerRecords(store, clock, "mcp_server");
    this.#lists = new ServerRecords(store, clock, "mcp_list");
  }

  async knows(server: string, config: ServerConfig): Promise<boolean> {
    return (await this.#records.get(server, config)) !== undefined;
  }

  /** @throws what the store throws; the server's tools are then trusted once more at its next connection */
  keep(server: string, config: ServerConfig): Promise<void> {
    return this.#records.keep(server, config);
  }

  async lastList(server: string, config: ServerConfig): Promise<LastList | undefined> {
    const { tools, capabilities } = (await this.#lists.get(server, config)) ?? {};
    if (!Array.isArray(tools) || !isJsonObject(capabilities)) return undefined;
    return { tools: tools.map(String), capabilities };
  }

  async keepList(server: string, config: ServerConfig, { tools, capabilities }: LastList): Promise<void> {
    const before = await this.lastList(server, config);
    const text = JSON.stringify({ tools, capabilities });
    if (JSON.stringify(before) !== text) await this.#lists.keep(server, config, { tools: [...tools], capabilities });
  }
}

/** After this time a server is asked again which revision it speaks. */
const revisionLifeMs = 86_400_000;

/** Which servers over pipes speak only old revisions. Some of them exit or fall silent when they are asked. */
export class Revisions {
  readonly #records: ServerRecords;
  readonly #clock: Clock;

  constructor(store: Pick<Store, "commit" | "documents">, clock: Clock) {
    this.#records = new ServerRecords(store, clock, "mcp_revision");
    this.#clock = clock;
  }

  async isOld(server: string, config: ServerConfig): Promise<boolean> {
    const { old, at } = (await this.#records.get(server, config)) ?? {};
    const ageMs = typeof at === "number" ? this.#clock.now() - at : Number.NaN;
    return old === true && ageMs >= 0 && ageMs < revisionLifeMs;
  }

  /** @param old whether the server speaks only old revisions; false also if that is no longer known */
  async keep(server: string, config: ServerConfig, old: boolean): Promise<void> {
    if (config.command === undefined) return;
    try {
      if ((await this.isOld(server, config)) !== old) await this.#records.keep(server, config, { old });
    } catch {
      // The store is closed or broken, and other parts report that. The server is asked again, which costs only time.
    }
  }
}
