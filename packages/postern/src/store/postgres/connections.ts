/** The connections of one store: three that each do one thing at a time, and a pool for reads. */
import type { Client, ClientConfig, Pool, QueryResultRow } from "pg";
import type { PostgresAddress } from "./address.ts";
import { isConnectionLost, unreadable } from "./database-errors.ts";
import type { Pg } from "./load-pg.ts";
import type { RunQuery } from "./read-known.ts";

export interface DatabaseOptions {
  readonly pg: Pg;
  readonly address: PostgresAddress;
  /** After it a statement is given up. */
  readonly timeoutMs: number;
  /** After it the answer of a statement is given up, and its connection; as `timeoutMs` if it is not given. */
  readonly answerMs?: number;
  readonly log: (problem: string) => void;
}

const mostReading = 4;
/** The server gives a statement up before this process gives the connection up: then its end is known. */
const serverShare = 2 / 3;

/**
 * The plans of `postern_commit_1` are kept, and the first ones are made while the tables are empty: without these they
 * would read whole tables later. The log's place is locked until the transaction ends, so it does not wait for the disk.
 */
export const writingSettings: Readonly<Record<string, string>> = {
  synchronous_commit: "off",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
};
export const syncingSettings: Readonly<Record<string, string>> = { synchronous_commit: "on" };

export async function connect(
  options: DatabaseOptions,
  settings: Readonly<Record<string, string>> = {},
): Promise<Client> {
  const client = new options.pg.Client(configOf(options, settings));
  client.on("error", () => {}); // its user hears of it too
  await client.connect();
  return client;
}

/** Runs reads. A read whose connection was lost is run once more: it changes nothing. */
export class Readers {
  readonly #pool: Pool;

  constructor(options: DatabaseOptions) {
    this.#pool = new options.pg.Pool({ ...configOf(options, {}), max: mostReading, idleTimeoutMillis: 60_000 });
    this.#pool.on("error", () => {}); // an idle connection was lost; the pool makes another
  }

  readonly run: RunQuery = async <Row>(query: Parameters<RunQuery>[0]): Promise<readonly Row[]> => {
    const { values = [], ...rest } = query;
    const wanted = { ...rest, values: [...values] };
    try {
      try {
        return (await this.#pool.query<QueryResultRow & Row>(wanted)).rows;
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        return (await this.#pool.query<QueryResultRow & Row>(wanted)).rows;
      }
    } catch (error) {
      throw unreadable(error);
    }
  };

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

function configOf(
  { address, timeoutMs, answerMs = timeoutMs }: DatabaseOptions,
  settings: Readonly<Record<string, string>>,
): ClientConfig {
  const all = {
    search_path: address.schema,
    statement_timeout: String(Math.ceil(answerMs * serverShare)),
    default_transaction_isolation: "read\\ committed",
    ...settings,
  };
  return {
    connectionString: address.connectionString,
    application_name: "postern",
    options: Object.entries(all)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(" "),
    keepAlive: true,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: answerMs,
  };
}
