import { SystemClock } from "@postern/core";
import type { Client } from "pg";
import { isConnectionLost, reasonOf } from "./database-errors.ts";

export interface LinkParts {
  /** `writing`: for the log. */
  readonly name: string;
  /** Makes a connected client. */
  readonly connect: () => Promise<Client>;
  /** Runs first on each new connection. If it throws, the connection is closed. */
  readonly begin: (client: Client) => Promise<void>;
  /** `begin` found that the store cannot go on. */
  readonly isFinal: () => boolean;
  readonly log: (problem: string) => void;
}

/** Milliseconds between two tries to connect, at first and at most. */
const [firstWaitMs, longestWaitMs] = [50, 2_000];
const machine = new SystemClock();

/** One connection, which is made again when it is lost. */
export class DatabaseLink {
  readonly #options: LinkParts;
  #client: Client | undefined;
  #connecting: Promise<void> | undefined;
  #awaySince: number | undefined;
  #why = "";
  #isClosed = false;
  #wake: (() => void) | undefined;
  /** The work before: a connection does one thing at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LinkParts) {
    this.#options = options;
  }

  /** The first connection. It is tried once. */
  async open(): Promise<void> {
    await this.#connect();
  }

  /** Milliseconds since the connection was lost; 0 while there is one. */
  get awayMs(): number {
    return this.#awaySince === undefined ? 0 : machine.monotonic() - this.#awaySince;
  }

  /** Why there is no connection. */
  get why(): string {
    return this.#why;
  }

  /** Resolves when there is a connection, the link is closed, or the time is over. */
  async within(ms: number): Promise<void> {
    if (this.#client !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = machine.in(ms, resolve);
    await Promise.race([this.#reconnect(), promise]);
    cancel();
  }

  /**
   * Runs work on the connection, one after the other. After an error that says that the connection is lost, it is closed,
   * so that the next work gets a new one. Resolves to undefined when the link is closed.
   */
  run<T>(work: (client: Client) => Promise<T>): Promise<T | undefined> {
    const done = this.#turn.then(() => this.#run(work));
    this.#turn = done.catch(() => {}); // its caller has it
    return done;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {}); // it is gone already
  }

  async #run<T>(work: (client: Client) => Promise<T>): Promise<T | undefined> {
    const client = await this.#waited();
    if (client === undefined) return undefined;
    try {
      return await work(client);
    } catch (error) {
      if (isConnectionLost(error)) this.#lose(client, error);
      throw error;
    }
  }

  /** Waits for a new connection; undefined when the link is closed. */
  async #waited(): Promise<Client | undefined> {
    while (this.#client === undefined && !this.#isClosed) await this.#reconnect();
    return this.#client;
  }

  #reconnect(): Promise<void> {
    this.#connecting ??= this.#untilConnected().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #untilConnected(): Promise<void> {
    for (let waitMs = firstWaitMs; !this.#isClosed; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
      try {
        await this.#connect();
        return;
      } catch (error) {
        this.#why = reasonOf(error);
        if (this.#options.isFinal()) return void (await this.close());
      }
      await this.#pause(waitMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const cancel = machine.in(ms, resolve, false);
    await promise;
    cancel();
    this.#wake = undefined;
  }

  async #connect(): Promise<void> {
    const client = await this.#options.connect();
    let isLost = false;
    client.on("error", (error) => {
      isLost = true;
      this.#lose(client, error);
    });
    client.on("end", () => {
      isLost = true;
      this.#lose(client, new Error("the connection has ended"));
    });
    try {
      await this.#options.begin(client);
    } catch (error) {
      end(client);
      throw error;
    }
    if (isLost || this.#isClosed) {
      end(client);
      throw new Error("the connection was lost at once");
    }
    this.#client = client;
    if (this.#awaySince === undefined) return;
    const awayMs = Math.round(this.awayMs);
    this.#awaySince = undefined;
    this.#options.log(`The connection for ${this.#options.name} is there again, after ${awayMs} ms.`);
  }

  #lose(client: Client, error: unknown): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    end(client);
    if (this.#isClosed) return;
    this.#why = reasonOf(error);
    this.#awaySince = machine.monotonic();
    this.#options.log(
      `The connection to PostgreSQL for ${this.#options.name} was lost: ${this.#why}. A new one is made.`,
    );
    void this.#reconnect();
  }
}

/** The socket may take nothing any more, so that a polite end would never come. */
function end(client: Client): void {
  client.end().catch(() => {}); // it is gone already
  const { connection } = client as unknown as { connection?: { stream?: { destroy?: () => void } } };
  connection?.stream?.destroy?.();
}
