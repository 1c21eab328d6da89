import { RuntimeFault } from "@postern/core";
import type { Client } from "pg";
import { isConnectionLost, reasonOf, sqlState } from "./database-errors.ts";
import type { DatabaseLink } from "./database-link.ts";

/** The database took too long. Asking again is harmless. */
const tooLong = "57014";

/**
 * Makes what is committed durable: an empty synced transaction that begins after it. PostgreSQL has one write-ahead log,
 * so everything before is on disk too. One such transaction serves all that wait, and holds no lock.
 */
export class SyncPoint {
  readonly #link: DatabaseLink;
  #waiting: PromiseWithResolvers<void>[] = [];
  #isSyncing = false;

  constructor(link: DatabaseLink) {
    this.#link = link;
  }

  /** Rejects with `store_broken` if the database could not sync. */
  synced(): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    this.#waiting.push(waiting);
    if (!this.#isSyncing) void this.#sync();
    return waiting.promise;
  }

  async #sync(): Promise<void> {
    this.#isSyncing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      try {
        await this.#untilSynced();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isSyncing = false;
  }

  async #untilSynced(): Promise<void> {
    for (;;) {
      try {
        if ((await this.#link.run(emptyTransaction)) === undefined) throw closed();
        return;
      } catch (error) {
        if (error instanceof RuntimeFault) throw error;
        if (isConnectionLost(error) || sqlState(error) === tooLong) continue; // a new connection checks that nothing is lost
        const message = `PostgreSQL did not keep what was written (${reasonOf(error)}); the store has stopped. Check its disk and start again.`;
        throw new RuntimeFault("store_broken", message, { cause: error });
      }
    }
  }
}

async function emptyTransaction(client: Client): Promise<true> {
  await client.query({ name: "sync", text: "select pg_logical_emit_message(true, 'postern', '')" });
  return true;
}

function closed(): RuntimeFault {
  return new RuntimeFault("runtime_closed", "The store is closed.");
}
