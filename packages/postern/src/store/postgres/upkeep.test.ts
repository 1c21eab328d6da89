import { type CallRecord, SystemClock } from "@postern/core";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { testPostgres } from "../../../../../test/fakes/postgres-server.ts";
import {
  approvalOf,
  callOf,
  claimOf,
  decideOf,
  note,
  recordOf,
  serializePlainly,
  settleOf,
} from "../../testing/records.ts";
import { readPostgresAddress } from "./address.ts";
import { openPostgresStore, type PostgresStore } from "./postgres-store.ts";

const postgres = testPostgres();
const now = Date.now();
const all = { before: now + 3_600_000, countedAfter: now + 3_600_000, now };

async function opened(url: string, log = (_problem: string): void => {}): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, clock: new SystemClock(), serialize: serializePlainly, log });
  onTestFinished(async () => await store[Symbol.asyncDispose]());
  return store;
}

/** Calls that have failed and may run again. */
async function failed(store: PostgresStore, count: number): Promise<readonly CallRecord[]> {
  const clock = new SystemClock();
  const records = Array.from({ length: count }, () => recordOf(callOf(clock), { fence: store.incarnation }));
  const end = { retryable: true, endedAt: now - 1 };
  await Promise.all(records.map((record) => store.commit(claimOf(record, { fresh: true }), "committed")));
  await Promise.all(records.map((record) => store.commit(settleOf(record, "failed", end), "committed")));
  return records;
}

async function erased(store: PostgresStore): Promise<number> {
  let count = 0;
  for await (const some of store.upkeep.erase("calls", all)) count += some;
  return count;
}

async function clientOf(url: string): Promise<pg.Client> {
  const { connectionString, schema } = readPostgresAddress(url);
  const client = new pg.Client({ connectionString, options: `-c search_path=${schema}` });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

interface HeldLog {
  release(): Promise<unknown>;
  /** The processes of the server whose batch or erasure waits. */
  waiting(): Promise<readonly number[]>;
  kill(process: number): Promise<unknown>;
}

/** Holds the place of the log, so that batches and erasures wait. */
async function holdLog(url: string): Promise<HeldLog> {
  const [holder, watcher] = [await clientOf(url), await clientOf(url)];
  await holder.query("begin; select from head for update");
  const text = "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%postern_%'";
  return {
    release: () => holder.query("commit"),
    waiting: async () => (await watcher.query<{ pid: number }>(text)).rows.map(({ pid }) => pid),
    kill: (process) => watcher.query("select pg_terminate_backend($1)", [process]),
  };
}

it("keeps a call that another gateway claims between the read and the erasure", async () => {
  const url = postgres.newStore();
  const [here, there] = [await opened(url), await opened(url)];
  const [one] = await failed(here, 3);
  if (one === undefined) throw new Error("there is a call");
  const { release, waiting } = await holdLog(url);
  const again = { ...one, fence: there.incarnation };
  // A batch with a decision reads all its rows first, so that its first try is good.
  void there.commit(decideOf(approvalOf(one), "expired"), "committed");
  const claimed = there.commit(claimOf(again), "committed");
  await expect.poll(async () => (await waiting()).length).toBe(1);
  const erasing = erased(here);
  await expect.poll(async () => (await waiting()).length).toBe(2);
  await release();
  expect(await claimed).toEqual({ won: true });
  expect(await erasing).toBe(2);
  expect(await there.commit(settleOf(again, "ok"), "committed")).toEqual({ won: true });
  expect((await here.calls({})).map(({ key, state }) => [key, state])).toEqual([[one.key, "ok"]]);
});

it("erases each call once when two processes erase at once, while calls are claimed again", async () => {
  const url = postgres.newStore();
  const [here, there] = [await opened(url), await opened(url)];
  const records = await failed(here, 1000);
  const claims = records.map(async (record, i): Promise<CallRecord | undefined> => {
    if (i % 10 > 0) return undefined;
    const store = i % 20 === 0 ? here : there;
    const again = recordOf(callOf(new SystemClock(), { id: `call_again_${i}` }), {
      ...{ key: record.key, fence: store.incarnation },
    });
    const { won } = await store.commit(claimOf(again), "committed");
    return won ? again : undefined;
  });
  const [first, second, ...rows] = await Promise.all([erased(here), erased(there), ...claims]);
  const running = rows.filter((row) => row !== undefined);
  expect(running).toHaveLength(100);
  const left = await here.calls({});
  const keys = running.map(({ key }) => key);
  expect(left.map(({ key, state }) => [key, state]).toSorted()).toEqual(
    keys.map((key) => [key, "attempted"]).toSorted(),
  );
  // A call whose row was erased first began as a new one.
  const isNew = left.filter(({ call }) => call.id.startsWith("call_again")).length;
  expect(first + second).toBe(900 + isNew);
});

it("erases nothing of a turn whose connection is killed, and the next run erases all", async () => {
  const url = postgres.newStore();
  const store = await opened(url);
  await failed(store, 250);
  const { release, waiting, kill } = await holdLog(url);
  const erasing = erased(store).catch((error: unknown) => error);
  for (let tries = 0; tries < 2; tries += 1) {
    await expect.poll(async () => (await waiting()).length).toBe(1); // the second time, the statement was sent again
    const [process = 0] = await waiting();
    await kill(process);
    await expect.poll(waiting).not.toContain(process);
  }
  expect(await erasing).toMatchObject({ code: "store_unreadable" });
  expect(await store.calls({})).toHaveLength(250);
  await release();
  expect([await erased(store), await erased(store)]).toEqual([250, 0]);
  expect(await store.calls({})).toEqual([]);
});

it("goes on after a lost connection when the last entry that it has was erased meanwhile", async () => {
  const url = postgres.newStore();
  const problems: string[] = [];
  const [here, there] = [await opened(url), await opened(url, (problem) => void problems.push(problem))];
  const last = Promise.withResolvers<number>();
  there.follow((entries) => last.resolve(entries.at(-1)?.seq ?? -1));
  await here.commit(note("old"), "committed");
  await here.upkeep.eraseEntries([await last.promise]);
  const client = await clientOf(url);
  await client.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'postern'");
  await expect.poll(() => problems.join()).toContain("for listening is there again");
  expect(await there.commit(note("new"), "committed")).toEqual({ won: true });
});

it("says how many rows there are by the statistics of the server", async () => {
  const url = postgres.newStore();
  const store = await opened(url);
  await failed(store, 100);
  await (await clientOf(url)).query("analyze call");
  const [calls] = await store.upkeep.sizes();
  expect(calls).toMatchObject({ kind: "calls", rows: 100 });
  expect(calls?.bytes).toBeGreaterThan(50_000);
});
