import { newId, RuntimeFault } from "@postern/core";
import type { Client } from "pg";
import { type CountedAs, periodMs, StatisticRows } from "../statistics.ts";
import type { CopiedStatistic, OpenRows, StoreRows } from "../store-rows.ts";
import { type PostgresAddress, readPostgresAddress } from "./address.ts";
import { BatchRows, documentName, type KnownRows } from "./batch-rows.ts";
import { commitStatement, countedRow, parametersOf } from "./commit-statement.ts";
import { connect, syncingSettings, writingSettings } from "./connections.ts";
import { unopenable, unreadable, unwritable } from "./database-errors.ts";
import { loadPg } from "./load-pg.ts";
import { checkServer, migrateWithin, newestStep } from "./migrations.ts";
import { addOpening, beginWriteSession, type Opening } from "./opening.ts";
import { parsed, recordOf, type StoredCallRow } from "./rows.ts";
import { fromStored } from "./text.ts";

const rowsAtOnce = 1000;
const timeoutMs = 30_000;
const nothingKnown: KnownRows = {
  calls: new Map(),
  live: new Map(),
  approvals: new Map(),
  documents: new Map(),
  scopes: new Map(),
};

/**
 * Opens a store in PostgreSQL below its port. A gateway that starts on it waits until it is closed.
 *
 * @throws RuntimeFault as `openPostgresStore`; `store_locked` while a gateway works on it
 */
export async function openPostgresRows(store: string): Promise<OpenRows> {
  const address = readPostgresAddress(store);
  const settings = { ...writingSettings, ...syncingSettings };
  let client: Client | undefined;
  try {
    client = await connect({ pg: await loadPg(), address, timeoutMs, log: () => {} }, settings);
    await checkServer(client, address.shown);
    await client.query("begin");
    await migrateWithin(client, address);
    await client.query("lock table opening in share row exclusive mode");
    await refuseRunning(client, address);
    const opening = await addOpening(client, { incarnation: newId("inc"), step: newestStep(), leaseMs: 0 });
    const { session } = await beginWriteSession(client, opening);
    return new PostgresRows(client, opening, session);
  } catch (error) {
    await client?.end().catch(() => {}); // its error is thrown already
    throw unopenable(error, address.shown);
  }
}

async function refuseRunning(client: Client, { shown }: PostgresAddress): Promise<void> {
  const text = "select count(*)::integer as running from opening where lease_until > clock_timestamp()";
  const running = (await client.query<{ running: number }>(text)).rows[0]?.running ?? 0;
  if (running === 0) return;
  const message = `The store \`${shown}\` is in use by ${running} Postern; stop it, or wait some seconds if it was killed.`;
  throw new RuntimeFault("store_locked", message);
}

/** One transaction: what was added, and a new schema, are there only after `keep`. */
class PostgresRows implements OpenRows {
  readonly #client: Client;
  readonly #opening: Opening;
  readonly #session: number;
  #batch = 0;

  constructor(client: Client, opening: Opening, session: number) {
    this.#client = client;
    this.#opening = opening;
    this.#session = session;
  }

  async *read(): AsyncGenerator<StoreRows> {
    const calls = "select * from call where key > $1 order by key";
    for await (const rows of this.#pages<StoredCallRow>(calls, [""], ({ key }) => [key]))
      yield { calls: rows.map(recordOf) };
    const approvals = "select number, body from approval where number > $1 order by number";
    for await (const rows of this.#pages<CopiedApprovalRow>(approvals, ["0"], ({ number }) => [number]))
      yield { approvals: rows.map(({ body }) => parsed(body)) };
    const documents = "select kind, id, version, body from document where (kind, id) > ($1, $2) order by kind, id";
    for await (const rows of this.#pages<CopiedDocumentRow>(documents, ["", ""], ({ kind, id }) => [kind, id]))
      yield {
        documents: rows.map(({ kind, id, version, body }) => ({
          ...{ kind: fromStored(kind), id: fromStored(id) },
          ...{ version: Number(version), body },
        })),
      };
    const statistics = `select ${statisticKey}, count, last_at from statistic
      where (${statisticKey}) > ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) order by ${statisticKey}`;
    for await (const rows of this.#pages<CopiedStatisticRow>(statistics, firstStatistic, statisticPlace))
      yield { statistics: rows.map(statisticOf) };
    const entries = "select seq, body from event where seq > $1 order by seq";
    for await (const rows of this.#pages<CopiedEntryRow>(entries, ["-1"], ({ seq }) => [seq]))
      yield { entries: rows.map(({ seq, body }) => ({ seq: Number(seq), body })) };
  }

  async add({ calls = [], approvals = [], documents = [], statistics = [], entries = [] }: StoreRows): Promise<void> {
    const rows = new BatchRows({ incarnation: this.#opening.incarnation, now: 0, known: nothingKnown });
    for (const call of calls) rows.take({ won: true, call });
    for (const approval of approvals) rows.take({ won: true, approval });
    for (const { kind, id, version, body } of documents)
      rows.documents.set(documentName(kind, id), { kind, id, version, body: JSON.parse(body) });
    const events = entries.map(({ body }) => body);
    const parameters = parametersOf(rows, { now: 0, events, statistics: new StatisticRows() });
    try {
      if (parameters !== undefined) await this.#write(parameters);
      const counted = JSON.stringify(statistics.map(({ period, ...row }) => countedRow(period, row)));
      if (statistics.length > 0)
        await this.#client.query("insert into statistic select * from json_populate_recordset(null::statistic, $1)", [
          counted,
        ]);
    } catch (error) {
      throw unwritable(error);
    }
  }

  async keep(): Promise<void> {
    try {
      await this.#client.query("commit");
    } catch (error) {
      throw unwritable(error);
    }
  }

  /** The database takes back what was not kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end().catch(() => {}); // the connection is gone, and the transaction with it
  }

  async #write(parameters: readonly (string | null)[]): Promise<void> {
    this.#batch += 1;
    const values = [this.#opening.number, this.#session, this.#batch, ...parameters];
    const { rows } = await this.#client.query<{ place: string | null }>(commitStatement, values);
    if (rows[0]?.place != null) return;
    throw new RuntimeFault("store_unwritable", "The store has a row already that was to be copied into it.");
  }

  async *#pages<Row extends object>(
    sql: string,
    first: readonly string[],
    placeOf: (row: Row) => readonly string[],
  ): AsyncGenerator<readonly Row[]> {
    for (let after = first; ; ) {
      const rows = await this.#rows<Row>(`${sql} limit ${rowsAtOnce}`, after);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      after = placeOf(last);
    }
  }

  async #rows<Row extends object>(sql: string, values: readonly string[]): Promise<readonly Row[]> {
    try {
      return (await this.#client.query<Row>(sql, [...values])).rows;
    } catch (error) {
      throw unreadable(error);
    }
  }
}

interface CopiedApprovalRow {
  readonly number: string;
  readonly body: string;
}

interface CopiedStatisticRow {
  readonly minutes: number;
  readonly at: string;
  readonly tenant: string;
  readonly tool: string;
  readonly action: string;
  readonly agent: string;
  readonly decider: string;
  readonly counted_as: CountedAs;
  readonly code: string;
  readonly step: number;
  readonly count: string;
  readonly last_at: string;
}

const statisticKey = "minutes, at, tenant, tool, action, agent, decider, counted_as, code, step";
const firstStatistic = ["0", "-1", "", "", "", "", "", "", "", "0"];

function statisticPlace(row: CopiedStatisticRow): readonly string[] {
  const { minutes, at, tenant, tool, action, agent, decider, counted_as: as, code, step } = row;
  return [String(minutes), at, tenant, tool, action, agent, decider, as, code, String(step)];
}

function statisticOf({
  minutes,
  at,
  counted_as: as,
  code,
  step,
  count,
  last_at: lastAt,
  ...row
}: CopiedStatisticRow): CopiedStatistic {
  const names = { tenant: fromStored(row.tenant), tool: fromStored(row.tool), action: fromStored(row.action) };
  return {
    ...{ period: minutes * periodMs.minute === periodMs.hour ? "hour" : "minute", at: Number(at), ...names },
    ...{ agent: fromStored(row.agent), decider: fromStored(row.decider), as, code, step },
    ...{ count: Number(count), lastAt: Number(lastAt) },
  };
}

interface CopiedDocumentRow {
  readonly kind: string;
  readonly id: string;
  readonly version: string;
  readonly body: string;
}

interface CopiedEntryRow {
  readonly seq: string;
  readonly body: string;
}
