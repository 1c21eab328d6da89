/**
 * What many rows cost the lists, counts and writes of a store in a file: a small one and one with 100,000 waiting requests
 * and 1,000,000 past calls, alternately in one process. `--quick`: a tenth of the rows.
 *
 * node bench/waiting.ts [--quick]
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SystemClock } from "../packages/core/src/clock.ts";
import { newCallId } from "../packages/core/src/ids.ts";
import type { ApprovalRecord, CallRecord } from "../packages/core/src/records.ts";
import { openSqliteStore } from "../packages/postern/src/store/sqlite/sqlite-store.ts";
import type { Store } from "../packages/postern/src/store/store.ts";
import {
  approvalOf,
  authority,
  callOf,
  claimOf,
  holdOf,
  recordOf,
  settleOf,
} from "../packages/postern/src/testing/records.ts";

const isQuick = process.argv.includes("--quick");
const few = { waiting: 200, past: 1_000 };
const many = isQuick ? { waiting: 10_000, past: 100_000 } : { waiting: 100_000, past: 1_000_000 };
const rounds = 30;
const folder = mkdtempSync(join(tmpdir(), "postern-waiting-"));
const clock = new SystemClock();
const body = JSON.stringify({ outcome: "info", summary: "x".repeat(200) });
const risks = ["critical", "high", "medium", "safe"] as const;
const words = "invoice customer refund charge billing gold plan berlin order shipping cancel retry report note".split(
  " ",
);

function newRecord(store: Store, i: number, run: number): CallRecord {
  const note = Array.from({ length: 16 }, (_, at) => words[(i * 7 + at * at) % words.length]).join(" ");
  const call = callOf(clock, {
    id: newCallId(clock.now()),
    tool: `tool${run % 20}`,
    arguments: { amount: i / 100, charge: `ch_${i.toString(36)}`, note },
    authority: { ...authority, runId: `run${run}`, principal: { ...authority.principal, agent: `agent${run % 50}` } },
  });
  return recordOf(call, { fence: store.incarnation });
}

async function filled(name: string, { waiting, past }: typeof few): Promise<Store> {
  const store = openSqliteStore({ location: join(folder, `${name}.db`), clock, serialize: () => body });
  for (let i = 0; i < past; i += 1) {
    const record = newRecord(store, i, i % 1_000);
    void store.commit(claimOf(record, { fresh: true }), "queued");
    const settled = store.commit(settleOf(record, "ok"), i % 500 === 499 ? "committed" : "queued");
    if (i % 500 === 499) await settled;
  }
  for (let i = 0; i < waiting; i += 1) {
    const held = store.commit(holdOf(...requestOf(store, i)), i % 200 === 199 ? "committed" : "queued");
    if (i % 200 === 199) await held;
  }
  return store;
}

/** A storm of one run, and requests of many others. */
function requestOf(store: Store, i: number): [CallRecord, ApprovalRecord] {
  const record = { ...newRecord(store, i, i % 3 === 0 ? 0 : i % 300), state: "held" as const, fence: undefined };
  const expiresAt = clock.now() + (i % 1_000 === 0 ? 200_000 : 86_400_000);
  const named = { ...record, approvalId: `apr_${record.call.id}`, aliveUntil: expiresAt };
  return [named, approvalOf(named, { risk: risks[i % 4] ?? "safe", expiresAt })];
}

const figures: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  "first page of 100 that wait": (store) => store.approvals({ state: "pending", tenant: "default", limit: 100 }),
  "the same of one run": (store) => store.approvals({ state: "pending", tenant: "default", runId: "run7", limit: 20 }),
  "count by risk": (store) => store.groups({ tenant: "default", by: ["risk"] }),
  "groups by tool and run, the 20 largest": (store) =>
    store.groups({ tenant: "default", by: ["tool", "runId"], limit: 20 }),
  "counts by state": (store) => store.counts({ tenant: "default" }),
  "audiences (what is for me)": (store) => store.audiences({ tenant: "default" }),
  "claim and settle, synced": async (store) => {
    const record = newRecord(store, 1, 1);
    await store.commit(claimOf(record), "synced");
    await store.commit(settleOf(record, "ok"), "committed");
  },
  hold: (store) => store.commit(holdOf(...requestOf(store, 1)), "synced"),
};
const searches: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  "search what waits: found early": (store) =>
    store.approvals({ state: "pending", search: "BILLING gold", limit: 100 }),
  "search what waits: not there": (store) => store.approvals({ state: "pending", search: "zzqqq", limit: 100 }),
  "search calls: found early": (store) => store.calls({ search: "BILLING gold", limit: 100 }),
  "search calls: not there": (store) => store.calls({ search: "zzqqq", limit: 100 }),
};

function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

const stores = [await filled("few", few), await filled("many", many)];
console.log(`few: ${few.waiting} wait, ${few.past} past; many: ${many.waiting} wait, ${many.past} past`);
console.log(`file with many: ${(statSync(join(folder, "many.db")).size / 2 ** 20).toFixed(0)} MB`);
for (const [name, work] of Object.entries(figures)) {
  const times = stores.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [at, store] of stores.entries()) times[at]?.push(await timeOf(() => work(store)));
  const [small = 0, large = 0] = times.map(medianOf);
  console.log(`${name}: ${small.toFixed(3)} ms, ${large.toFixed(3)} ms, × ${(large / small).toFixed(2)}`);
}
for (const [name, work] of Object.entries(searches)) {
  const times: number[] = [];
  for (let round = 0; round < 3; round += 1)
    for (const store of stores.slice(1)) times.push(await timeOf(() => work(store)));
  console.log(`${name}, with many: ${medianOf(times).toFixed(1)} ms`);
}
for (const store of stores) await store[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });
