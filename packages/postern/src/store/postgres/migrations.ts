import { RuntimeFault } from "@postern/core";
import type { Client } from "pg";
import { type PostgresStep, schemaSteps } from "./schema.ts";

const oldestServer = 15;
/** Two gateways that start at once must not both change the schema. */
const lockName = "postern schema";

export interface SchemaPlace {
  readonly schema: string;
  /** For messages. */
  readonly shown: string;
}

/** The step that this Postern knows. */
export function newestStep(steps: readonly PostgresStep[] = schemaSteps): number {
  return steps.at(-1)?.step ?? 0;
}

/** @throws RuntimeFault `store_unopenable` */
export async function checkServer(client: Client, shown: string): Promise<void> {
  const { rows } = await client.query<{ number: string; version: string; read_only: string }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version,
       current_setting('transaction_read_only') as read_only`,
  );
  const [server] = rows;
  if (Math.floor(Number(server?.number) / 10_000) < oldestServer) {
    const message = `\`${shown}\` is PostgreSQL ${server?.version}; Postern needs PostgreSQL ${oldestServer} or newer.`;
    throw new RuntimeFault("store_unopenable", message);
  }
  if (server?.read_only !== "off") {
    const message = `\`${shown}\` is read-only (it may be a standby); name the primary server.`;
    throw new RuntimeFault("store_unopenable", message);
  }
}

/**
 * Brings the schema to the newest step, in one transaction. Nothing of a database that is not ours is changed.
 *
 * @throws RuntimeFault `store_foreign`, `store_newer`, `store_locked`
 */
export async function migrate(
  client: Client,
  place: SchemaPlace,
  steps: readonly PostgresStep[] = schemaSteps,
): Promise<void> {
  await client.query("begin");
  try {
    await migrateWithin(client, place, steps);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {}); // the connection is gone, and the transaction with it
    throw error;
  }
}

/** As `migrate`, in the transaction that the client is in. */
export async function migrateWithin(
  client: Client,
  place: SchemaPlace,
  steps: readonly PostgresStep[] = schemaSteps,
): Promise<void> {
  await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`${lockName} ${place.schema}`]);
  const version = await versionOf(client, place);
  if (version === undefined) await createSchema(client, place.schema);
  for (const { step, oldest, sql } of stepsAfter(version, place, steps)) {
    await checkRunning(client, place, oldest, version);
    await client.query(sql);
    await client.query("insert into version (step, oldest) values ($1, $2)", [step, oldest]);
  }
}

interface SchemaVersion {
  /** The last step that was made. */
  readonly step: number;
  /** The oldest step whose gateways can work on it. */
  readonly oldest: number;
}

/** Undefined if there is nothing yet. */
async function versionOf(client: Client, { schema, shown }: SchemaPlace): Promise<SchemaVersion | undefined> {
  const { rows } = await client.query<{ name: string }>(
    "select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1",
    [schema],
  );
  const names = new Set(rows.map(({ name }) => name));
  if (names.size === 0) return undefined;
  const isOurs = ["version", "head", "opening", "call", "event", "document", "approval"].every((name) =>
    names.has(name),
  );
  const found = isOurs ? await readVersion(client) : undefined;
  if (found !== undefined) return found;
  const message = `The schema \`${schema}\` of \`${shown}\` holds tables of something else. Name another one with \`?schema=NAME\`.`;
  throw new RuntimeFault("store_foreign", message);
}

async function readVersion(client: Client): Promise<SchemaVersion | undefined> {
  const { rows: columns } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = to_regclass('version') and attnum > 0`,
  );
  const names = columns.map(({ name }) => name);
  if (!names.includes("step") || !names.includes("oldest")) return undefined;
  const { rows } = await client.query<{ step: number | null; oldest: number | null }>(
    "select max(step) as step, max(oldest) as oldest from version",
  );
  const { step = null, oldest = null } = rows[0] ?? {};
  return step === null || oldest === null ? undefined : { step, oldest };
}

async function createSchema(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query("select from pg_namespace where nspname = $1", [schema]);
  if (rows.length === 0) await client.query(`create schema ${schema}`); // the name was checked
  await client.query(
    "create table version (step integer primary key, oldest integer not null, made_at timestamptz not null default now())",
  );
}

function stepsAfter(
  version: SchemaVersion | undefined,
  { shown }: SchemaPlace,
  steps: readonly PostgresStep[],
): readonly PostgresStep[] {
  const newest = newestStep(steps);
  if (version !== undefined && version.oldest > newest) {
    const known = `step ${version.step}, which needs ${version.oldest}; this Postern knows ${newest}`;
    const message = `The store \`${shown}\` was changed by a newer Postern (${known}). Install that one, or name another store.`;
    throw new RuntimeFault("store_newer", message);
  }
  return steps.filter(({ step }) => step > (version?.step ?? 0));
}

/** A step that removes what an older gateway uses waits until none is running. */
async function checkRunning(
  client: Client,
  { shown }: SchemaPlace,
  oldest: number,
  version: SchemaVersion | undefined,
): Promise<void> {
  if (version === undefined) return;
  const { rows } = await client.query<{ step: number }>(
    "select step from opening where step < $1 and lease_until > clock_timestamp() order by step limit 1",
    [oldest],
  );
  const [older] = rows;
  if (older === undefined) return;
  const message = `A Postern of an older version (step ${older.step} of the schema) is running on \`${shown}\`, and this one needs all to know step ${oldest}. Stop the older ones, then start again.`;
  throw new RuntimeFault("store_locked", message);
}
