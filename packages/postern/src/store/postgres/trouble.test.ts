import { type StoreWrite, SystemClock } from "@postern/core";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { testPostgres } from "../../../../../test/fakes/postgres-server.ts";
import { TcpProxy } from "../../../../../test/fakes/tcp-proxy.ts";
import {
  all,
  approvalOf,
  callOf,
  claimOf,
  decideOf,
  eventOf,
  holdOf,
  note,
  recordOf,
  serializePlainly,
  settleOf,
} from "../../testing/records.ts";
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";

const postgres = testPostgres();

interface Opened {
  readonly store: PostgresStore;
  readonly beside: PostgresStore;
  readonly proxy: TcpProxy;
  readonly problems: string[];
  /** Types of the entries in the database. */
  readonly types: () => Promise<string[]>;
}

/** A store behind a proxy, and another one beside it that reads the same log. */
async function behindProxy(more: Partial<PostgresStoreOptions> = {}): Promise<Opened> {
  const url = new URL(postgres.newStore());
  const direct = url.href;
  const proxy = await TcpProxy.open(Number(url.port));
  url.port = String(proxy.port);
  const problems: string[] = [];
  const common = { clock: new SystemClock(), serialize: serializePlainly };
  const log = (problem: string): void => void problems.push(problem);
  const store = await openPostgresStore({ ...common, url: url.href, timeoutMs: 2000, patienceMs: 500, log, ...more });
  const beside = await openPostgresStore({ ...common, url: direct });
  onTestFinished(async () => {
    proxy.mode = "forward";
    await store[Symbol.asyncDispose]();
    await beside[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  });
  const types = async () => (await all(beside.events({ after: -1 }))).map(({ body }) => String(JSON.parse(body).type));
  return { store, beside, proxy, problems, types };
}

/** Holds the lock that each commit needs, in the newest schema. */
async function lockedLog(): Promise<{ readonly release: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  let isHeld = true;
  const release = async (): Promise<void> => {
    if (isHeld) await client.end();
    isHeld = false;
  };
  onTestFinished(release);
  await client.query("begin");
  await client.query(`select from ${await newestSchema()}.head for update`);
  return { release };
}

async function newestSchema(): Promise<string> {
  const [row] = await admin<{ schema: string }>(
    "select nspname as schema from pg_namespace where nspname like 'test_%' order by oid desc limit 1",
  );
  return row?.schema ?? "";
}

async function admin<Row extends pg.QueryResultRow>(sql: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: postgres.url, options: "-c default_transaction_read_only=off" });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

it("writes a batch once whose answer was lost with the connection", async () => {
  const { store, proxy, types } = await behindProxy();
  const heard: string[] = [];
  store.follow((entries) =>
    heard.push(...entries.map(({ event }) => (event as { type: string } | undefined)?.type ?? "")),
  );
  proxy.mode = "drop answers";
  const answer = store.commit(note("in doubt"), "synced");
  await expect.poll(types).toEqual(["in doubt"]); // it is written, and the store does not know
  proxy.mode = "forward";
  proxy.cut();
  expect(await answer).toEqual({ won: true });
  expect(await store.commit(note("after"), "synced")).toEqual({ won: true });
  expect(await types()).toEqual(["in doubt", "after"]);
  expect(heard).toEqual(["in doubt", "after"]);
});

it("writes a batch once that the lost connection never brought, even if it arrives late", async () => {
  const { store, proxy, types } = await behindProxy();
  proxy.mode = "hold";
  const answer = store.commit(note("late"), "synced");
  await new Promise((resolve) => setImmediate(resolve));
  proxy.cut();
  proxy.mode = "forward";
  expect(await answer).toEqual({ won: true });
  expect(await types()).toEqual(["late"]);
});

it("decides a batch again that a lost connection never brought: an approval that expired meanwhile is not used", async () => {
  const { store, beside } = await behindProxy({ patienceMs: 60_000, timeoutMs: 60_000 });
  const call = callOf(new SystemClock());
  const aliveUntil = store.clock.now() + 1500;
  const held = recordOf(call, { state: "held", approvalId: "apr_1", aliveUntil });
  const approval = approvalOf(held);
  await store.commit(holdOf(held, approval), "synced");
  expect(await store.commit(decideOf(approval, "approved"), "synced")).toEqual({ won: true });
  const record = recordOf(call, { fence: store.incarnation, approvalId: "apr_1" });
  const lock = await lockedLog();
  const answer = store.commit(claimOf(record, { use: "apr_1" }), "synced");
  await expect.poll(() => store.clock.now() > aliveUntil, { timeout: 5000 }).toBe(true);
  await admin("select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'");
  await lock.release();
  expect(await answer).toMatchObject({ won: false });
  expect(await beside.approval("apr_1")).toMatchObject({ state: "approved" });
});

it("does not start a call that another process settled while the answer of its claim was lost", async () => {
  const { store, beside, proxy, types } = await behindProxy({ leaseMs: 1000 });
  const clock = new SystemClock();
  const record = recordOf(callOf(clock), { fence: store.incarnation });
  const kept = recordOf(callOf(clock), { fence: store.incarnation });
  proxy.mode = "drop answers";
  const answers = [record, kept].map((one) => store.commit(claimOf(one, { fresh: true }), "synced"));
  await expect.poll(types).toEqual(["attempted", "attempted"]); // and this process does not know it
  await expect.poll(async () => (await beside.stranded()).length, { timeout: 15_000 }).toBe(2);
  const unknown = settleOf(record, "unknown", { retryable: true });
  expect(await beside.commit(unknown, "synced")).toEqual({ won: true });
  expect(await beside.commit(claimOf({ ...record, fence: beside.incarnation }), "synced")).toEqual({ won: true });
  proxy.cut();
  proxy.mode = "forward";
  const [lost, wins] = await Promise.all(answers);
  expect(lost).toMatchObject({ won: false, call: { key: record.key, fence: beside.incarnation } });
  expect(wins).toEqual({ won: true });
});

it("refuses a write that waited too long when its batch was not written, and keeps an outcome", async () => {
  const { store, proxy, types } = await behindProxy({ timeoutMs: 60_000 });
  const record = recordOf(callOf(new SystemClock()), { fence: store.incarnation });
  await store.commit(claimOf(record, { fresh: true }), "synced");
  proxy.mode = "hold";
  const began = performance.now();
  const answers = [
    store.commit(settleOf(record, "ok"), "committed"),
    store.commit({ write: "document", kind: "kind", id: "late", body: 1, expectedVersion: 0 }, "committed"),
  ];
  await expect.poll(() => performance.now() - began > 700).toBe(true); // longer than its patience
  proxy.cut();
  proxy.mode = "forward";
  const [settled, document] = await Promise.allSettled(answers);
  expect(settled).toEqual({ status: "fulfilled", value: { won: true } });
  expect(document).toMatchObject({ reason: { code: "store_unreachable" } });
  expect(await types()).toEqual(["attempted", "settled ok"]);
  expect(await store.documents.get("kind", "late")).toBeUndefined();
});

it("refuses a statement of a connection that was replaced", async () => {
  const { store } = await behindProxy();
  const late = `set search_path = ${await newestSchema()};
    select postern_commit_1(number, session - 1, 99, null, null, null, null, null, null, null, null, null, '["x"]', null, null)
      from opening where incarnation = '${store.incarnation}'`;
  await expect(admin(late)).rejects.toMatchObject({ code: "PT001" });
  expect(await all(store.events({ after: -1 }))).toEqual([]);
});

it("answers each of 400 writes truly while its connections are killed again and again", async () => {
  const { store, types, problems } = await behindProxy({ patienceMs: 20_000 });
  const heard: number[] = [];
  store.follow((entries) => heard.push(...entries.map(({ seq }) => seq)));
  const written: string[] = [];
  const lane = async (lane: number): Promise<void> => {
    for (let n = 0; n < 50; n += 1) {
      const record = recordOf(callOf(new SystemClock(), { id: `call_${lane}_${n}` }), { fence: store.incarnation });
      const claim = { ...claimOf(record, { fresh: true }), event: eventOf(`claim ${lane} ${n}`) } as StoreWrite;
      expect(await store.commit(claim, "synced")).toEqual({ won: true });
      const end = { ...settleOf(record, "ok"), event: eventOf(`end ${lane} ${n}`) } as StoreWrite;
      expect(await store.commit(end, "committed")).toEqual({ won: true });
      written.push(`claim ${lane} ${n}`, `end ${lane} ${n}`);
    }
  };
  let isOver = false;
  const lanes = Promise.all(Array.from({ length: 4 }, (_, i) => lane(i))).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await admin("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'postern'");
    const count = written.length;
    await expect.poll(() => isOver || written.length > count + 20).toBe(true);
  }
  await lanes;
  const log = await types();
  expect(log.toSorted()).toEqual(written.toSorted());
  expect(heard).toEqual(log.map((_, i) => i));
  expect(problems.some((problem) => problem.includes("was lost"))).toBe(true);
});

it("refuses writes by name in a partition, keeps an outcome, and goes on afterwards", async () => {
  const { store, proxy, types } = await behindProxy();
  const record = recordOf(callOf(new SystemClock()), { fence: store.incarnation });
  await store.commit(claimOf(record, { fresh: true }), "synced");
  proxy.mode = "hold";
  const settled = store.commit(settleOf(record, "ok"), "synced");
  await expect
    .poll(
      async () => await Promise.race([store.commit(note("away"), "committed"), tick()]).catch((error) => error.code),
      { timeout: 15_000 },
    )
    .toBe("store_unreachable");
  await expect(store.commit(note("away"), "committed")).rejects.toThrow(/cannot reach its database for \d+ s \(.+\)/);
  proxy.cut();
  proxy.mode = "forward";
  expect(await settled).toEqual({ won: true });
  expect(await store.commit(note("back"), "synced")).toEqual({ won: true });
  const log = await types();
  expect(log.filter((type) => type === "settled ok")).toHaveLength(1);
  expect(log.at(-1)).toBe("back");
});

it("begins nothing while only the connection that renews its lease is away, and keeps an outcome", async () => {
  const { store, proxy, types, problems } = await behindProxy();
  const record = recordOf(callOf(new SystemClock()), { fence: store.incarnation });
  await store.commit(claimOf(record, { fresh: true }), "synced");
  proxy.mode = "refuse";
  // The other connections stay.
  await expect
    .poll(async () => {
      await admin(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'postern'
        and query ~ '^(select seq, opening, body from event|select [*] from document where changed)'`);
      return problems.some((problem) => problem.includes("for listening was lost"));
    })
    .toBe(true);
  await expect
    .poll(() => store.commit(note("away"), "committed").catch(({ code }) => code), { timeout: 15_000 })
    .toBe("store_unreachable");
  expect(await store.commit(settleOf(record, "ok"), "committed")).toEqual({ won: true });
  proxy.mode = "forward";
  await expect.poll(() => store.commit(note("back"), "synced").catch(() => undefined)).toEqual({ won: true });
  expect((await types()).filter((type) => type !== "away")).toEqual(["attempted", "settled ok", "back"]);
});

it("works slowly, and keeps its lease, when each request takes five seconds", async () => {
  const { store, proxy, beside } = await behindProxy({ timeoutMs: 30_000 });
  const record = recordOf(callOf(new SystemClock()), { fence: store.incarnation });
  await store.commit(claimOf(record, { fresh: true }), "synced");
  proxy.delayMs = 5000;
  const began = performance.now();
  expect(await store.commit(note("slow"), "synced")).toEqual({ won: true });
  expect(performance.now() - began).toBeGreaterThan(9000); // one transaction and one sync
  proxy.delayMs = 0;
  expect(await beside.stranded()).toEqual([]);
}, 60_000);

it("refuses writes to a read-only database by name, and takes them when it is writable again", async () => {
  const { store } = await behindProxy();
  await admin("alter system set default_transaction_read_only = on");
  await admin("select pg_reload_conf()");
  try {
    await expect
      .poll(() => store.commit(note("no"), "synced").then(String, (error) => error.message))
      .toMatch(/could not write: the database is read-only .+ use the primary server/);
    const opening = openPostgresStore({
      url: postgres.newStore(),
      clock: new SystemClock(),
      serialize: serializePlainly,
    });
    await expect(opening).rejects.toMatchObject({
      code: "store_unopenable",
      message: expect.stringContaining("read-only"),
    });
  } finally {
    await admin("alter system reset default_transaction_read_only");
    await admin("select pg_reload_conf()");
  }
  await expect.poll(() => store.commit(note("yes"), "synced").catch(() => undefined)).toEqual({ won: true });
});

it("keeps an outcome that a read-only database refuses, until it is writable again", async () => {
  const { store, problems, types } = await behindProxy();
  const record = recordOf(callOf(new SystemClock()), { fence: store.incarnation });
  await store.commit(claimOf(record, { fresh: true }), "synced");
  await admin("alter system set default_transaction_read_only = on");
  await admin("select pg_reload_conf()");
  let settled: Promise<unknown>;
  try {
    await expect.poll(() => store.commit(note("no"), "synced").catch(({ code }) => code)).toBe("store_unwritable");
    settled = store.commit(settleOf(record, "ok"), "synced");
    const tries = () => problems.filter((problem) => problem.startsWith("1 outcome could not be written"));
    await expect.poll(() => tries().length, { timeout: 10_000 }).toBeGreaterThan(1);
    expect(await store.calls({ state: "attempted" })).toHaveLength(1); // reads do not wait for it
  } finally {
    await admin("alter system reset default_transaction_read_only");
    await admin("select pg_reload_conf()");
  }
  expect(await settled).toEqual({ won: true });
  expect((await types()).filter((type) => type !== "no")).toEqual(["attempted", "settled ok"]);
});

it("measures how long its batches take, and the bytes of its tables", async () => {
  const { store } = await behindProxy();
  await store.commit(note("one"), "synced");
  expect(store.measures.commits).toMatchObject({ count: 1 });
  expect(await store.measures.bytes()).toMatchObject({ event: expect.any(Number), call: expect.any(Number) });
  expect((await store.measures.bytes())["event"]).toBeGreaterThan(8000);
});

it.each([
  ["a user without a free connection", "few", /no free connection; raise its `max_connections`/],
  ["a wrong password", "wrong", /the password is wrong/],
  ["a database that does not exist", "nothing", /does not exist; make it with `createdb`/],
  ["a port where no server listens", "no server", /ECONNREFUSED/],
])("refuses %s by name, without the password", async (_, what, message) => {
  const url = new URL(postgres.newStore());
  if (what === "few") {
    const few = `few_${process.pid}`;
    await admin(
      `create role ${few} login password 'secret' connection limit 2; grant all on database postgres to ${few}`,
    );
    onTestFinished(async () => void (await admin(`drop owned by ${few}; drop role ${few}`)));
    url.username = few;
  }
  if (what === "wrong") url.password = "hunter22";
  if (what === "nothing") url.pathname = "/nothing";
  if (what === "no server") url.port = "1";
  const opening = openPostgresStore({ url: url.href, clock: new SystemClock(), serialize: serializePlainly });
  const fault = await opening.then(
    () => undefined,
    (error) => error,
  );
  expect(fault).toMatchObject({ code: "store_unopenable", message: expect.stringMatching(message) });
  expect(fault.message).not.toMatch(/secret|hunter22/);
});

it("goes on after the server was restarted", async () => {
  const { server } = postgres;
  if (server === undefined) return; // a server that is not ours
  const { store, types } = await behindProxy({ patienceMs: 30_000 });
  await store.commit(note("before"), "synced");
  await server.stop();
  const meanwhile = store.commit(note("meanwhile"), "synced");
  await server.start();
  expect(await meanwhile).toEqual({ won: true });
  expect(await types()).toEqual(["before", "meanwhile"]);
});

it("stops by name when the database has lost what it had committed", async () => {
  const { store, proxy } = await behindProxy();
  await store.commit(note("first"), "synced");
  await store.commit(note("second"), "synced");
  // As after a crash that cut off the last transaction.
  await admin(
    `set search_path = ${await newestSchema()}; delete from event where seq = 1; update head set seq = 1; update opening set batch = batch - 1`,
  );
  proxy.cut();
  await expect.poll(() => store.broken).toMatchObject({ code: "store_lost" });
  await expect(store.commit(note("third"), "synced")).rejects.toMatchObject({ code: "store_lost" });
});

function tick(): Promise<"waits"> {
  return new Promise((resolve) => setTimeout(() => resolve("waits"), 100));
}
