/** `postern start` with a store in PostgreSQL that cannot be used: why, what to do, and nothing is changed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SystemClock } from "@postern/core";
import { expect, it } from "vitest";
import { loadPg } from "../../packages/postern/src/store/postgres/load-pg.ts";
import { newestStep } from "../../packages/postern/src/store/postgres/migrations.ts";
import { openPostgresStore } from "../../packages/postern/src/store/postgres/postgres-store.ts";
import { serializePlainly } from "../../packages/postern/src/testing/records.ts";
import { OldPostgres } from "../fakes/old-postgres.ts";
import type { Ended } from "../fakes/postern-process.ts";
import { PosternProcess } from "../fakes/postern-process.ts";
import { testPostgres } from "../fakes/postgres-server.ts";

const postgres = testPostgres();

async function start(store: string, environment: PosternProcess["environment"] = {}): Promise<Ended> {
  using postern = new PosternProcess();
  Object.assign(postern.environment, environment);
  const text = `tools:\n  modules: [./tools.ts]\nlisten:\n  port: 0\nstore: "${store}"\n`;
  writeFileSync(join(postern.folder, "postern.yaml"), text);
  return await postern.run("start");
}

/** Another address with the same schema. */
function changed(url: string, change: Partial<Pick<URL, "hostname" | "password" | "pathname">>): string {
  return Object.assign(new URL(url), change).href;
}

async function asked<Row extends object>(sql: string): Promise<readonly Row[]> {
  const { Client } = await loadPg();
  const client = new Client(postgres.url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

it("names the password, the host, the database, the package and the version, and makes nothing", async () => {
  await using old = await OldPostgres.started();
  const url = postgres.newStore();
  const hook = new URL("../fakes/without-package.mjs", import.meta.url);
  const withoutPg = { NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import ${hook}`, WITHOUT_PACKAGE: "pg" };
  const ends = await Promise.all([
    start(changed(url, { password: "hunter22" })),
    start(changed(url, { hostname: "nothing.invalid" })),
    start(changed(url, { pathname: "/missing" })),
    start(url, withoutPg),
    start(old.url),
  ]);
  const why = [
    /cannot be opened: the password is wrong; correct it/,
    /cannot be opened: its host .+; check the address.* \(getaddrinfo \w+ nothing\.invalid\)/,
    /cannot be opened: the database does not exist; make it with `createdb`/,
    /needs the package `pg`: run `npm install pg`/,
    /is PostgreSQL 14\.12; Postern needs PostgreSQL 15 or newer/,
  ];
  for (const [i, { code, out, err }] of ends.entries()) {
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(why[i] ?? /^$/) });
    expect(out + err).not.toMatch(/hunter22|secret|\n {4}at /);
  }
  expect(old.asked).toHaveLength(1);
  const schema = new URL(url).searchParams.get("schema");
  expect(await asked(`select from pg_namespace where nspname = '${schema}'`)).toEqual([]);
});

it("names a newer schema, and leaves it as it is", async () => {
  const url = postgres.newStore();
  const store = await openPostgresStore({ url, clock: new SystemClock(), serialize: serializePlainly });
  await store[Symbol.asyncDispose]();
  const schema = new URL(url).searchParams.get("schema");
  const newest = newestStep();
  await asked(`insert into ${schema}.version (step, oldest) values (${newest + 1}, ${newest + 1})`);
  const rows = `select (select count(*) from ${schema}.opening) as openings, (select max(step) from ${schema}.version) as step`;
  const before = await asked(rows);
  const { code, err } = await start(url);
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("was changed by a newer Postern") });
  expect(err).toContain("Install that one, or name another store.");
  expect(await asked(rows)).toEqual(before);
});
