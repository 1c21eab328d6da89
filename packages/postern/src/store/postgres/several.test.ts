import { spawn } from "node:child_process";
import { once } from "node:events";
import { type CallRecord, type Json, type StoreWrite, SystemClock } from "@postern/core";
import { expect, it, onTestFinished } from "vitest";
import { testPostgres } from "../../../../../test/fakes/postgres-server.ts";
import {
  all,
  approvalOf,
  callOf,
  claimOf,
  decideOf,
  holdOf,
  note,
  recordOf,
  serializePlainly,
  settleOf,
} from "../../testing/records.ts";
import { Lease } from "../lease.ts";
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";

const postgres = testPostgres();
const minuteMs = 60_000;

/** A clock of a machine that is wrong by so much. */
class WrongClock extends SystemClock {
  readonly #byMs: number;
  constructor(byMs: number) {
    super();
    this.#byMs = byMs;
  }
  override now(): number {
    return super.now() + this.#byMs;
  }
}

async function opened(url: string, more: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, clock: new SystemClock(), serialize: serializePlainly, ...more });
  onTestFinished(async () => await store[Symbol.asyncDispose]());
  return store;
}

async function several(count: number): Promise<readonly PostgresStore[]> {
  const url = postgres.newStore();
  const stores: PostgresStore[] = [];
  for (let i = 0; i < count; i += 1) stores.push(await opened(url));
  return stores;
}

it("lets one of three processes win each of 300 keys, and each follower gets one log in order", async () => {
  const stores = await several(3);
  const seen = stores.map((): { seq: number; body: string }[] => []);
  for (const [i, store] of stores.entries())
    store.follow((entries) => void seen[i]?.push(...entries.map(({ seq, body }) => ({ seq, body }))));
  const clock = new SystemClock();
  const winners = await Promise.all(
    Array.from({ length: 300 }, async (_, n) => {
      const answers = await Promise.all(
        stores.map(async (store, i) => {
          const call = callOf(clock, { id: `call_${n}_${i}` });
          const record = recordOf(call, { key: `key ${n}`, match: `match ${n}`, fence: store.incarnation });
          const { won } = await store.commit(claimOf(record), "synced");
          if (won) await store.commit(settleOf(record, "ok"), "committed");
          return won;
        }),
      );
      return answers.filter((won) => won).length;
    }),
  );
  expect(new Set(winners)).toEqual(new Set([1]));
  const log = await all((stores[0] as PostgresStore).events({ after: -1 }));
  expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 600 }, (_, i) => i));
  for (const entries of seen) await expect.poll(() => entries.length).toBe(600);
  for (const entries of seen) expect(entries).toEqual(log);
});

it("lets one of three equal calls without a key start, a hundred times", async () => {
  const stores = await several(3);
  const clock = new SystemClock();
  for (let n = 0; n < 100; n += 1) {
    const answers = await Promise.all(
      stores.map((store, i) => {
        const call = callOf(clock, { id: `call_${n}_${i}` });
        return store.commit(claimOf(recordOf(call, { match: `twin ${n}` }), { fresh: true }), "synced");
      }),
    );
    expect(answers.filter(({ won }) => won)).toHaveLength(1);
  }
});

it("gives entries of this process their events, and those of others none", async () => {
  const [here, there] = (await several(2)) as [PostgresStore, PostgresStore];
  const events: string[] = [];
  here.follow((entries) => events.push(...entries.map(({ event }) => (event === undefined ? "other" : "own"))));
  const writes = [here, there, there, here, there].map((store, i) => [store, `n${i}`] as const);
  for (const [store, type] of writes) await store.commit(note(type), "committed");
  await expect.poll(() => events).toEqual(["own", "other", "other", "own", "other"]);
});

it("gives followers what a lost claim is told of before it is answered, also beside writes that win", async () => {
  const [here, there] = (await several(2)) as [PostgresStore, PostgresStore];
  const clock = new SystemClock();
  let seen = -1;
  here.follow((entries) => {
    seen = entries.at(-1)?.seq ?? seen;
  });
  for (let n = 0; n < 20; n += 1) {
    const [before, now] = [0, 1].map(() => recordOf(callOf(clock))) as [CallRecord, CallRecord];
    const past = { judgedBy: [] as string[], upTo: -1, scopes: [`scope ${n}`] };
    await there.commit({ ...claimOf(before, { fresh: true }), past } as StoreWrite, "committed");
    const claim = { ...claimOf(now, { fresh: true }), past: { ...past, judgedBy: past.scopes } } as StoreWrite;
    const [won, lost] = await Promise.all([
      here.commit({ write: "document", kind: "kind", id: String(n), body: n, expectedVersion: 0 }, "committed"),
      here.commit(claim, "committed"),
    ]);
    expect(won).toEqual({ won: true });
    expect(lost).toEqual({ won: false, pastChanged: expect.any(Number) });
    expect(seen).toBeGreaterThanOrEqual((lost as { pastChanged: number }).pastChanged);
  }
});

it("tells of documents that another process changed, also of removed ones, and of no own ones", async () => {
  const [here, there] = (await several(2)) as [PostgresStore, PostgresStore];
  const heard: unknown[] = [];
  const follower = here.documents.follow("kind", (id, document) => heard.push([id, document]));
  const put = (store: PostgresStore, id: string, expectedVersion: number, body: Json) =>
    store.commit({ write: "document", kind: "kind", id, body, expectedVersion }, "committed");
  await put(here, "own", 0, 1);
  await put(there, "a\0b", 0, { n: 1 });
  await expect.poll(() => heard).toEqual([["a\0b", { version: 1, body: { n: 1 } }]]);
  await put(there, "a\0b", 1, null);
  await expect.poll(() => heard.length).toBe(2);
  expect(heard[1]).toEqual(["a\0b", { version: 2, body: null }]);
  follower[Symbol.dispose]();
  const last = Promise.withResolvers<void>();
  here.documents.follow("kind", () => last.resolve());
  await put(there, "c", 0, 1);
  await last.promise;
  expect(heard).toHaveLength(2);
});

it("shows calls of a killed process when its lease is over, and never those of a running one", async () => {
  const url = postgres.newStore();
  const store = await opened(url, { leaseMs: 1500 });
  const script = `
    const { openPostgresStore } = await import(${JSON.stringify(new URL("postgres-store.ts", import.meta.url).href)});
    const records = await import(${JSON.stringify(new URL("../../testing/records.ts", import.meta.url).href)});
    const { SystemClock } = await import("@postern/core");
    const clock = new SystemClock();
    const store = await openPostgresStore({ url: ${JSON.stringify(url)}, clock, serialize: records.serializePlainly, leaseMs: 1500 });
    const record = records.recordOf(records.callOf(clock), { fence: store.incarnation });
    await store.commit(records.claimOf(record, { fresh: true }), "synced");
    console.log(record.key);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const key = line.toString().trim();
  const began = performance.now();
  while (performance.now() - began < 3000) expect(await store.stranded()).toEqual([]); // two leases
  child.kill("SIGKILL");
  await expect.poll(async () => (await store.stranded()).map((record) => record.key)).toEqual([key]);
});

it("leaves the lease when it is closed: its calls are found at once", async () => {
  const url = postgres.newStore();
  const [here, there] = [await opened(url), await opened(url)];
  const record = recordOf(callOf(new SystemClock()), { fence: there.incarnation });
  await there.commit(claimOf(record, { fresh: true }), "synced");
  expect(await here.stranded()).toEqual([]);
  await there[Symbol.asyncDispose]();
  expect((await here.stranded()).map(({ key }) => key)).toEqual([record.key]);
});

it.each([10, -10])("decides by the time of the database when a machine's clock is %d minutes off", async (minutes) => {
  const url = postgres.newStore();
  const [right, wrong] = [await opened(url), await opened(url, { clock: new WrongClock(minutes * minuteMs) })];
  expect(Math.abs(wrong.clock.now() - right.clock.now())).toBeLessThan(1000);
  const ask = async (store: PostgresStore, forMs: number) => {
    const aliveUntil = store.clock.now() + forMs;
    const id = `call_${crypto.randomUUID()}`;
    const record = recordOf(callOf(store.clock, { id }), { state: "held", approvalId: `apr_${id}`, aliveUntil });
    const approval = approvalOf(record);
    await store.commit(holdOf(record, approval), "synced");
    return approval;
  };
  const [short, long] = [await ask(right, 5 * minuteMs), await ask(wrong, 5 * minuteMs)];
  for (const approval of [short, long])
    expect(await wrong.commit(decideOf(approval, "expired"), "synced")).toMatchObject({ won: false });
  expect(await wrong.commit(decideOf(short, "approved"), "synced")).toEqual({ won: true });
  expect(await right.commit(decideOf(long, "approved"), "synced")).toEqual({ won: true });
});

it("has one owner of a lease, and the next one when the owner leaves or is gone", async () => {
  const [here, there] = (await several(2)) as [PostgresStore, PostgresStore];
  const began: string[] = [];
  const lease = (name: string, store: PostgresStore) => {
    const begin = (): void => void began.push(name);
    const log = (problem: string): void => void began.push(problem);
    return new Lease({ store, name: "channel \0 ops", clock: new WrongClock(10 * minuteMs), log, begin, forMs: 600 });
  };
  const first = await lease("first", here).open();
  const second = await lease("second", there).open();
  onTestFinished(async () => await second[Symbol.asyncDispose]());
  expect([first.isOwner, second.isOwner]).toEqual([true, false]);
  await first[Symbol.asyncDispose]();
  expect(first.isOwner).toBe(false);
  await expect.poll(() => second.isOwner).toBe(true);
  expect(began).toEqual(["first", "second"]);
  expect(await here.leases.take("channel \0 ops", 1000)).toBe(false);
  expect(await here.leases.take("other", 1)).toBe(true);
  await expect.poll(() => there.leases.take("other", 60_000)).toBe(true);
});
