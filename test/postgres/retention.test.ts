/** Retention on PostgreSQL, with gateways that share a store, a clock and a key. */
import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { verifyExport } from "../../packages/postern/src/audit/index.ts";
import { createRuntime, defineTool, type Runtime } from "../../packages/postern/src/index.ts";
import { readPostgresAddress } from "../../packages/postern/src/store/postgres/address.ts";
import { loadPg } from "../../packages/postern/src/store/postgres/load-pg.ts";
import { openPostgresStore } from "../../packages/postern/src/store/postgres/postgres-store.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { testPostgres } from "../fakes/postgres-server.ts";

const postgres = testPostgres();
const dayMs = 86_400_000;
const retention = { callsDays: 30, approvalsDays: 30, eventsDays: 30 };
const say = defineTool({
  ...{ name: "say", description: "Says it.", risk: "safe", effects: "write", idempotent: false },
  input: { type: "object", properties: { n: { type: "number" } } },
  execute: async ({ n }: { readonly n?: number }) => `said ${n}`,
});

interface Gateways {
  readonly url: string;
  readonly clock: FakeClock;
  readonly problems: string[];
  open(isErasing: boolean): Promise<Runtime>;
}

function gateways(): Gateways {
  const [url, folder, clock, problems] = [postgres.newStore(), ownFolder(), new FakeClock(), [] as string[]];
  const open = async (isErasing: boolean): Promise<Runtime> => {
    const runtime = await createRuntime({
      ...{ folder, clock, tools: [say], log: (problem) => void problems.push(problem) },
      store: (context) => openPostgresStore({ ...context, url, time: "clock" }),
      ...(isErasing && { retention }),
    });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  return { url, clock, problems, open };
}

async function sayAll(runtime: Runtime, from: number, count: number, key?: string): Promise<void> {
  const outcomes = await Promise.all(
    Array.from({ length: count }, (_, i) => {
      const call = { tool: "say", arguments: { n: from + i } };
      return runtime.invoke(call, key === undefined ? {} : { idempotencyKey: `${key} ${i}` });
    }),
  );
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["ok"]));
}

async function countsOf(runtime: Runtime, type: string): Promise<readonly number[]> {
  return (await runtime.audit.query({ type })).map(({ data }) => Number(Object(data).count));
}

const erasedOf = async (runtime: Runtime) => {
  const found = await runtime.audit.verify();
  return found.intact ? (found.erased ?? 0) : found.why;
};

it("one of two gateways erases while both take calls, and the log verifies on both and outside", async () => {
  const { clock, problems, open } = gateways();
  const first = await open(false);
  await sayAll(first, 0, 300);
  await sayAll(first, 300, 20, "key");
  await first.close();
  await clock.advance(40 * dayMs);
  const [a, b] = await Promise.all([open(true), open(true)]);
  let n = 1000;
  const erased = async (): Promise<number> => (await countsOf(a, "runtime.entries_erased")).reduce((x, y) => x + y, 0);
  do {
    await Promise.all([sayAll(a, n, 10), sayAll(b, n + 10, 10)]);
    n += 20;
  } while ((await erased()) === 0);
  await Promise.all([a, b].map((one) => expect.poll(() => erasedOf(one)).toBe(640)));
  expect(await countsOf(b, "runtime.rows_erased")).toEqual([320]);
  expect(await countsOf(b, "runtime.entries_erased")).toEqual([640]);
  for (const one of [a, b]) {
    const sizes = (await one.storage.sizes()).map(({ kind }) => kind);
    expect(sizes).toEqual(["calls", "approvals", "events", "documents", "artifacts"]);
    const proof = await one.audit.prove(0);
    expect(proof?.body).toMatch(/^#erased/);
    const publicKey = proof?.publicKey ?? "";
    expect(await verifyExport(one.audit.export(), { publicKey })).toMatchObject({ intact: true, erased: 640 });
    const calls = await one.calls.list({ limit: 2000 });
    const old = calls.filter(({ call }) => call.arrivedAt < clock.now());
    expect([calls.length - old.length, old.length]).toEqual([n - 1000, 20]);
    expect(old.every(({ erasedAt, outcome }) => erasedAt === clock.now() && outcome === undefined)).toBe(true);
  }
  const again = await b.invoke({ tool: "say", arguments: { n: 300 } }, { idempotencyKey: "key 0" });
  expect(again.refusal?.code).toBe("result_unavailable");
  expect(problems).toEqual([]);
});

it("a connection that is killed while entries are erased leaves a log that verifies; the next run ends it", async () => {
  const { url, clock, problems, open } = gateways();
  const other = await open(false);
  await sayAll(other, 0, 600);
  await clock.advance(40 * dayMs);
  const { connectionString, schema } = readPostgresAddress(url);
  const { Client } = await loadPg();
  const connected = { connectionString, options: `-c search_path=${schema}` };
  const [holder, watcher] = [new Client(connected), new Client(connected)] as const;
  const clients = [holder, watcher];
  for (const client of clients) await client.connect();
  onTestFinished(async () => void (await Promise.all(clients.map((client) => client.end()))));
  await holder.query("begin; select from event where seq = 1100 for update");
  const cut = await open(true);
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity
    where wait_event_type = 'Lock' and query like 'update event%'`;
  await expect
    .poll(async () => [await watcher.query(kill), problems.join()][1], { timeout: 30_000 })
    .toContain("could not be swept");
  expect([await erasedOf(cut), await erasedOf(other)]).toEqual([1100, 1100]);
  await holder.query("commit");
  await cut.close();
  const last = await open(true);
  for (const one of [last, other]) await expect.poll(() => erasedOf(one), { timeout: 30_000 }).toBe(1200);
  expect(await countsOf(last, "runtime.entries_erased")).toEqual([1200, 100]);
});
