import type { Clock } from "../../core/clock.ts";
import { digestOf, isJsonObject, type Json } from "../../core/json.ts";
import { Collection } from "../../store/collection.ts";
import type { Store } from "../../store/store.ts";
import type { ServerConfig } from "./server-config.ts";

/** After so long a server is asked again whether it has learned the new protocol. */
const lifeMs = 86_400_000;

/**
 * Which servers over pipes speak only the old protocol, over restarts of Postern. Some of them end or fall silent when
 * they are asked, and have to be started again.
 */
export class Revisions {
  readonly #revisions: Collection<Json>;
  readonly #clock: Clock;

  constructor(store: Pick<Store, "commit" | "documents">, clock: Clock) {
    this.#revisions = new Collection({ store, kind: "mcp_revision", read: (body) => body });
    this.#clock = clock;
  }

  async isOld(server: string, config: ServerConfig): Promise<boolean> {
    const body = await this.#revisions.get(server);
    if (body === undefined || !isJsonObject(body)) return false;
    const { program, old, at } = body;
    const isFresh = typeof at === "number" && at <= this.#clock.now() && this.#clock.now() - at < lifeMs;
    return old === true && isFresh && program === programOf(config);
  }

  /** @param old whether the server speaks only the old protocol; false also when nobody knows any more */
  async keep(server: string, config: ServerConfig, old: boolean): Promise<void> {
    if (config.command === undefined) return;
    try {
      if ((await this.isOld(server, config)) === old) return;
      const item = { at: this.#clock.now(), old, program: programOf(config) };
      await this.#revisions.change(server, () => ({ item }));
    } catch {
      // The store is closed or broken, which is told elsewhere; the server is asked again, which costs time and nothing else.
    }
  }
}

/** Another program, or the same one called otherwise, may speak something else. */
function programOf({ command = "", args = [], cwd = "" }: ServerConfig): string {
  return digestOf([command, [...args], cwd]);
}
