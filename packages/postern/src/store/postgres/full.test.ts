/** PostgreSQL without room on its disk, and without a free connection, under a store that works. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SystemClock } from "@postern/core";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { testPostgres } from "../../../../../test/fakes/postgres-server.ts";
import { TcpProxy } from "../../../../../test/fakes/tcp-proxy.ts";
import { callOf, claimOf, note, outcomeOf, recordOf, serializePlainly, settleOf } from "../../testing/records.ts";
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";

const connections = 20;
const postgres = testPostgres(["-c", `max_connections=${connections}`]);
const canMount =
  process.getuid?.() === 0 && process.platform === "linux" && process.env["POSTERN_TEST_PG"] === undefined;
const diskBytes = 8_000_000;

async function opened(url: string, more: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, clock: new SystemClock(), serialize: serializePlainly, ...more });
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

async function connected(): Promise<pg.Client> {
  const client = new pg.Client(postgres.url);
  client.on("error", () => {}); // the server stops before it
  await client.connect();
  return client;
}

/** A tablespace on a small disk, with a file that can be removed to make room. */
async function smallDisk(): Promise<{ readonly ballast: string }> {
  const { folder: server = "" } = postgres.server ?? {};
  const disk = join(dirname(server), "disk");
  mkdirSync(disk);
  execFileSync("/usr/bin/mount", ["-t", "tmpfs", "-o", `size=${diskBytes}`, "none", disk]);
  onTestFinished(() => void execFileSync("/usr/bin/umount", ["--lazy", disk]));
  const [folder, ballast] = [join(disk, "tables"), join(disk, "ballast")];
  mkdirSync(folder, { mode: 0o700 });
  const { uid, gid } = statSync(server);
  chownSync(folder, uid, gid);
  writeFileSync(ballast, Buffer.alloc(diskBytes / 4));
  const client = await connected();
  await client.query(`create tablespace small location '${folder}'`);
  await client.query("alter role postgres set default_tablespace = small");
  onTestFinished(async () => {
    await client.query("alter role postgres reset default_tablespace");
    await client.end();
  });
  return { ballast };
}

it.runIf(canMount)("a full disk refuses writes by name; an outcome is kept until there is room", async () => {
  const { ballast } = await smallDisk();
  const url = postgres.newStore();
  const problems: string[] = [];
  const store = await opened(url, { log: (problem) => void problems.push(problem) });
  const record = recordOf(callOf(store.clock), { fence: store.incarnation });
  await store.commit(claimOf(record, { fresh: true }), "synced");
  const large = randomBytes(100_000).toString("hex"); // it cannot be made smaller
  let n = 0;
  const put = () =>
    store.commit(
      { write: "document", kind: "kind", id: `${n++}`, body: [large, Math.random()], expectedVersion: 0 },
      "committed",
    );
  const refused = await (async () => {
    for (;;)
      try {
        await put();
      } catch (error) {
        return error;
      }
  })();
  expect(refused).toMatchObject({
    code: "store_unwritable",
    message: expect.stringContaining("the disk of the database is full"),
  });
  await expect(opened(postgres.newStore())).rejects.toMatchObject({ code: "store_unopenable" });
  const outcome = outcomeOf(record.call, "ok", large);
  const settled = store.commit(settleOf(record, "ok", { outcome }), "synced");
  await expect.poll(() => problems.some((problem) => problem.includes("will be tried again"))).toBe(true);
  expect(await store.calls({ state: "attempted" })).toHaveLength(1);
  rmSync(ballast);
  expect(await settled).toEqual({ won: true });
  expect(await put()).toEqual({ won: true });
  await store[Symbol.asyncDispose]();
  expect(await (await opened(url)).calls({ state: "ok" })).toHaveLength(1);
});

it.runIf(process.env["POSTERN_TEST_PG"] === undefined)(
  "without a free connection a lost one is named, and made again when there is one",
  async () => {
    const url = new URL(postgres.newStore());
    await using proxy = await TcpProxy.open(Number(url.port));
    url.port = String(proxy.port);
    const store = await opened(url.href, { patienceMs: 500 });
    const others: pg.Client[] = [];
    const takeAll = async (): Promise<void> => {
      for (;;) {
        const client = new pg.Client(postgres.url);
        client.on("error", () => {}); // it is refused, or ended below
        try {
          await client.connect();
        } catch {
          return; // there is no free one
        }
        others.push(client);
      }
    };
    await takeAll();
    expect(await store.commit(note("one"), "synced")).toEqual({ won: true }); // its own connections stay
    proxy.mode = "refuse";
    proxy.cut();
    await expect
      .poll(async () => {
        await takeAll();
        return others.length;
      })
      .toBe(connections);
    proxy.mode = "forward";
    await expect
      .poll(() =>
        store.commit({ write: "document", kind: "kind", id: "no", body: 1, expectedVersion: 0 }, "synced").then(
          () => "written",
          (error) => error.message,
        ),
      )
      .toMatch(/cannot reach its database .+ no free connection; raise its `max_connections`/);
    await Promise.all(others.map((client) => client.end()));
    await expect.poll(() => store.commit(note("two"), "synced").catch(() => undefined)).toEqual({ won: true });
  },
);
