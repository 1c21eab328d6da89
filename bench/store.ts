/** What the store costs a call: claim and settle of a safe call, and one durable claim against one synced insert. */
import { closeSync, fdatasync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import type { Authority, ToolCall } from "../packages/core/src/call.ts";
import { SystemClock } from "../packages/core/src/clock.ts";
import type { DurableEvent } from "../packages/core/src/event.ts";
import { newCallId } from "../packages/core/src/ids.ts";
import type { CallRecord } from "../packages/core/src/records.ts";
import { sha256 } from "../packages/core/src/system/digest.ts";
import { MemoryStore } from "../packages/postern/src/store/memory-store.ts";
import { openSqliteStore } from "../packages/postern/src/store/sqlite/sqlite-store.ts";
import type { Store } from "../packages/postern/src/store/store.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-bench-"));
const clock = new SystemClock();
const body = `{"outcome":"info","summary":"${"x".repeat(380)}"}`;
const options = { clock, serialize: () => body };
const authority: Authority = {
  principal: { tenant: "default", agent: "bench", user: "ann" },
  scopes: ["a:read"],
  runId: "run_bench",
  traceId: "0".repeat(32),
};
const args = { to: "someone@example.org", body: "x".repeat(120) };
const text = JSON.stringify(args);
const digest = sha256(text);

function newRecord(store: Store, key?: string): CallRecord {
  const id = newCallId(clock.now());
  const arrivedAt = clock.now();
  const call: ToolCall = {
    id,
    tool: "echo",
    action: "default",
    arguments: args,
    text,
    digest,
    authority,
    arrivedAt,
    parentId: undefined,
    idempotencyKey: undefined,
    resumes: undefined,
  };
  return {
    key: key ?? id,
    match: undefined,
    call,
    state: "attempted",
    risk: "safe",
    definition: digest,
    idempotent: true,
    fence: store.incarnation,
    approvalId: undefined,
    aliveUntil: undefined,
    startedAt: arrivedAt,
    endedAt: undefined,
    outcome: undefined,
    retryable: false,
    image: undefined,
  };
}

async function safeCall(store: Store): Promise<void> {
  const record = newRecord(store);
  const event: DurableEvent = {
    moment: "noted",
    at: 0,
    type: "t",
    summary: "s",
    traceId: "",
    policyVersion: "p1",
    outcome: "info",
  };
  void store.commit({ write: "claim", record, fresh: true, event }, "queued"); // decided at once; the settle below hears a failed write
  const outcome = {
    status: "ok",
    callId: record.call.id,
    content: [{ type: "text", text: "done" }],
    text: "done",
  } as const;
  await store.commit(
    {
      write: "settle",
      key: record.key,
      fence: record.fence,
      end: { state: "ok", outcome, retryable: false, endedAt: clock.now(), image: undefined },
      event,
    },
    "committed",
  );
}

async function durableClaim(store: Store): Promise<void> {
  const event: DurableEvent = {
    moment: "noted",
    at: 0,
    type: "t",
    summary: "s",
    traceId: "",
    policyVersion: "p1",
    outcome: "info",
  };
  await store.commit({ write: "claim", record: newRecord(store), fresh: true, event }, "synced");
}

/** Microseconds a call, best of the rounds. */
async function timed(calls: number, inFlight: number, work: () => Promise<void>, rounds = 7): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    const lanes = Array.from({ length: inFlight }, async () => {
      for (let i = 0; i < calls / inFlight; i += 1) await work();
    });
    await Promise.all(lanes);
    best = Math.min(best, ((performance.now() - start) * 1000) / calls);
  }
  return best;
}

async function median(times: number, work: () => Promise<void>): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < times; i += 1) {
    const start = performance.now();
    await work();
    took.push((performance.now() - start) * 1000);
  }
  return took.sort((a, b) => a - b)[times >> 1] ?? 0;
}

function say(name: string, us: number): void {
  console.log(
    `${name.padEnd(52)} ${us.toFixed(2).padStart(9)} µs ${Math.round(1e6 / us)
      .toLocaleString("en")
      .padStart(10)} /s`,
  );
}

const stores: [string, () => Store][] = [
  ["memory", () => new MemoryStore(options)],
  ["file", () => openSqliteStore({ ...options, location: join(folder, "safe.db") })],
];
for (const [name, open] of stores) {
  await using store = open();
  say(`${name}: safe call, one after another`, await timed(20_000, 1, () => safeCall(store)));
  say(`${name}: safe call, 32 in flight`, await timed(64_000, 32, () => safeCall(store)));
}
{
  await using store = openSqliteStore({ ...options, location: join(folder, "durable.db") });
  const plain = new DatabaseSync(join(folder, "plain.db"));
  plain.exec(
    "pragma locking_mode=exclusive; pragma journal_mode=wal; pragma synchronous=normal; create table t (a integer primary key, b text)",
  );
  const insert = plain.prepare("insert into t (b) values (?)");
  const fd = openSync(join(folder, "plain.db-wal"), "r+");
  const sync = promisify(fdatasync);
  const row = body + text + digest + JSON.stringify(authority);
  const synced = async (): Promise<void> => {
    insert.run(row);
    await sync(fd);
  };
  await median(100, synced);
  for (let round = 0; round < 3; round += 1) {
    say("one insert of that size, fdatasync (p50)", await median(600, synced));
    say("file: durable claim (p50)", await median(600, () => durableClaim(store)));
  }
  say("file: durable claim, 32 in flight", await timed(3_200, 32, () => durableClaim(store), 3));
  closeSync(fd);
  plain.close();
}
rmSync(folder, { recursive: true });
