import { SystemClock } from "@postern/core";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { testPostgres } from "../../../../../test/fakes/postgres-server.ts";
import { all, note, serializePlainly } from "../../testing/records.ts";
import { readPostgresAddress } from "./address.ts";
import { checkServer, migrate, newestStep } from "./migrations.ts";
import { openPostgresStore, type PostgresStore } from "./postgres-store.ts";
import { schemaSteps } from "./schema.ts";

const postgres = testPostgres();

async function opened(url: string): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, clock: new SystemClock(), serialize: serializePlainly, leaseMs: 1000 });
  onTestFinished(async () => await store[Symbol.asyncDispose]());
  return store;
}

/** A client whose search path is the schema of the store. */
async function clientOf(url: string): Promise<pg.Client> {
  const { connectionString, schema } = readPostgresAddress(url);
  const client = new pg.Client({ connectionString, options: `-c search_path=${schema}` });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** What a later version may bring. */
const newest = newestStep();
const widening = {
  step: newest + 1,
  oldest: 1,
  sql: "alter table call add column note text; create table extra (id text)",
};
const narrowing = { step: newest + 2, oldest: newest + 2, sql: "drop function postern_commit_1" };

it("makes the schema once when four processes open an empty database at once", async () => {
  const url = postgres.newStore();
  const stores = await Promise.all([1, 2, 3, 4].map(() => opened(url)));
  for (const [i, store] of stores.entries()) await store.commit(note(`n${i}`), "committed");
  const [first] = stores;
  expect(first && (await all(first.events({ after: -1 })))).toHaveLength(4);
});

it("lets an older Postern go on, and start, after a newer one widened the schema", async () => {
  const url = postgres.newStore();
  const older = await opened(url);
  const client = await clientOf(url);
  const place = readPostgresAddress(url);
  await migrate(client, place, [...schemaSteps, widening]);
  expect(await older.commit(note("goes on"), "synced")).toEqual({ won: true });
  const another = await opened(url);
  expect(await another.commit(note("starts"), "synced")).toEqual({ won: true });
});

it("does not narrow the schema while an older Postern runs, and then refuses the older one by name", async () => {
  const url = postgres.newStore();
  const older = await opened(url);
  const client = await clientOf(url);
  const place = readPostgresAddress(url);
  const steps = [...schemaSteps, widening, narrowing];
  await expect(migrate(client, place, steps)).rejects.toMatchObject({
    code: "store_locked",
    message: expect.stringContaining("Stop the older ones"),
  });
  const { rows } = await client.query("select max(step) as step from version");
  expect(rows).toEqual([{ step: newest }]); // all or nothing
  await older[Symbol.asyncDispose]();
  await migrate(client, place, steps);
  await expect(opened(url)).rejects.toMatchObject({
    code: "store_newer",
    message: expect.stringContaining(`needs ${newest + 2}; this Postern knows ${newest}`),
  });
});

it("stops a running Postern by name if the schema no longer fits it", async () => {
  const url = postgres.newStore();
  const older = await opened(url);
  const client = await clientOf(url);
  await client.query(`insert into version (step, oldest) values (${newest + 1}, ${newest + 1})`);
  await expect.poll(() => older.broken).toMatchObject({ code: "store_newer" });
});

it.each(["create table accounts (id text)", "create table version (number integer)"])(
  "refuses a schema of something else, and changes nothing in it: %s",
  async (sql) => {
    const url = postgres.newStore();
    const client = await clientOf(url);
    await client.query(`create schema ${readPostgresAddress(url).schema}; ${sql}`);
    await expect(opened(url)).rejects.toMatchObject({
      code: "store_foreign",
      message: expect.stringContaining("tables of something else"),
    });
    const tables = "select count(*)::integer as count from pg_tables where schemaname = current_schema()";
    expect((await client.query(tables)).rows).toEqual([{ count: 1 }]);
  },
);

it("uses an empty schema that the operator made", async () => {
  const url = postgres.newStore();
  const client = await clientOf(url);
  await client.query(`create schema ${readPostgresAddress(url).schema}`);
  expect(await (await opened(url)).commit(note("n"), "synced")).toEqual({ won: true });
});

it.each([
  ["140012", "14.12", "off", /PostgreSQL 14.12; Postern needs PostgreSQL 15 or newer/],
  ["150001", "15.1", "on", /read-only/],
])("refuses a server %s of version %s by name", async (number, version, read_only, message) => {
  const client = { query: async () => ({ rows: [{ number, version, read_only }] }) } as unknown as pg.Client;
  await expect(checkServer(client, "postgres://db")).rejects.toMatchObject({
    code: "store_unopenable",
    message: expect.stringMatching(message),
  });
});

it.each([
  ["postgres://db/x?schema=No;drop", /`No;drop` cannot be the schema/],
  ["postgres://a b/x", /cannot be read/],
])("refuses the address %s", async (url, message) => {
  const opening = openPostgresStore({ url, clock: new SystemClock(), serialize: serializePlainly });
  await expect(opening).rejects.toMatchObject({ code: "options_invalid", message: expect.stringMatching(message) });
});
