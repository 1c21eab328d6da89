import { RuntimeFault } from "@postern/core";
import type { Client } from "pg";
import { messageKinds } from "../process-messages.ts";

/** The row of this opening of the store in the table `opening`. */
export interface Opening {
  readonly number: number;
  readonly incarnation: string;
}

/** What the row says when a connection for writing begins. */
export interface WriteSession {
  /** Statements of earlier sessions are refused from now on. */
  readonly session: number;
  /** The last batch that this opening wrote, and the place of its first event. */
  readonly batch: number;
  readonly place: number;
}

/**
 * Rows of openings that ended longer ago, and left no call, are removed, with the entries of their scopes and the messages
 * to them: no process is so far behind, and a message waits ten minutes at most.
 */
const keptFor = "1 day";

export async function addOpening(
  client: Client,
  { incarnation, step, leaseMs }: { readonly incarnation: string; readonly step: number; readonly leaseMs: number },
): Promise<Opening> {
  await client.query(
    `delete from opening o where lease_until < clock_timestamp() - interval '${keptFor}'
       and not exists (select from call where fence = o.incarnation)`,
  );
  await client.query("delete from past where not exists (select from opening where number = past.opening)");
  await client.query(
    `delete from document where kind = any($1)
       and not exists (select from opening where incarnation = split_part(id, '/', 1))`,
    [messageKinds],
  );
  // A removed document keeps its version so that older writers lose. They lose here too: no row is version 0.
  await client.query("delete from document where kind = 'artifact' and body = 'null'");
  const { rows } = await client.query<{ number: number }>(
    `insert into opening (incarnation, step, lease_until)
       values ($1, $2, clock_timestamp() + make_interval(secs => $3)) returning number`,
    [incarnation, step, leaseMs / 1000],
  );
  return { number: rows[0]?.number ?? 0, incarnation };
}

/** Waits until a batch that another connection may still be writing has ended. */
export async function beginWriteSession(client: Client, { number }: Opening): Promise<WriteSession> {
  const { rows } = await client.query<{ session: number; batch: string; first: string }>(
    "update opening set session = session + 1 where number = $1 returning session, batch, first",
    [number],
  );
  const [row] = rows;
  if (row === undefined) throw lostBehind("the row of this process is gone");
  return { session: row.session, batch: Number(row.batch), place: Number(row.first) };
}

/** The number of the last batch that the database has of this opening. */
export async function lastBatch(client: Client, { number }: Opening): Promise<number> {
  const { rows } = await client.query<{ batch: string }>("select batch from opening where number = $1", [number]);
  const [row] = rows;
  if (row === undefined) throw lostBehind("the row of this process is gone");
  return Number(row.batch);
}

/** The database was restored from a copy, or crashed before its last commits were on disk. */
export function lostBehind(what: string): RuntimeFault {
  return new RuntimeFault(
    "store_lost",
    `The database lost writes that it had committed: ${what}. The store has stopped. Start again; calls that were cut off become unknown.`,
  );
}
