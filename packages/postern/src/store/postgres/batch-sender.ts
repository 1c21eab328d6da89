import type { Client } from "pg";
import type { Decided } from "./batch-decision.ts";
import { type BatchParameters, commitStatement, parametersOf } from "./commit-statement.ts";
import { isConnectionLost } from "./database-errors.ts";
import type { DatabaseLink } from "./database-link.ts";
import type { Opening, WriteSession } from "./opening.ts";

export interface BatchSenderOptions {
  readonly opening: Opening;
  readonly link: DatabaseLink;
  /** Resolves when there is a connection again, or never will be. */
  readonly untilBack: () => Promise<void>;
}

/** How the writing of a batch can end without it being written. */
type Unwritten = "changed rows" | "lost connection";

/** Sends batches, one after the other. Each is sent once, in one session; the next session says whether it was written. */
export class BatchSender {
  /** The number of the last batch that is known to be written. */
  written = 0;
  readonly #options: BatchSenderOptions;
  #session: WriteSession = { session: 0, batch: 0, place: 0 };
  /** The number of the last batch that was tried. */
  #batch = 0;

  constructor(options: BatchSenderOptions) {
    this.#options = options;
  }

  /** For each new connection, before anything is written on it. */
  began(session: WriteSession): void {
    this.#session = session;
  }

  /** The place of the first entry, or why nothing was written; undefined if the connection was closed. */
  async send({ rows, now, entries, statistics }: Decided): Promise<number | Unwritten | undefined> {
    const events = entries.map(({ body }) => body);
    const parameters = parametersOf(rows, { now, events, statistics });
    if (parameters === undefined) return "changed rows";
    const batch = ++this.#batch;
    const begun = this.#session;
    for (;;) {
      try {
        const place = await this.#options.link.run((client) =>
          this.#session === begun ? this.#write(client, batch, parameters) : this.#ended(batch),
        );
        if (typeof place === "number") this.written = batch;
        return place;
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        await this.#options.untilBack();
      }
    }
  }

  async #write(client: Client, batch: number, parameters: BatchParameters): Promise<number | Unwritten> {
    const values = [this.#options.opening.number, this.#session.session, batch, ...parameters];
    const found = await client.query<{ place: string | null }>({ name: "commit", text: commitStatement, values });
    const place = found.rows[0]?.place ?? null;
    return place === null ? "changed rows" : Number(place);
  }

  /** A newer session says whether the batch was written, and no statement of an older session can write it later. */
  async #ended(batch: number): Promise<number | Unwritten> {
    return this.#session.batch === batch ? this.#session.place : "lost connection";
  }
}
