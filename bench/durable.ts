import { fdatasync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { type AnyTool, createRuntime, defineTool, type Runtime } from "../packages/postern/src/index.ts";
import { median, percentile } from "./harness.ts";

export interface Durable {
  /** Milliseconds, p50: a call above `safe` on a file, one after another. */
  readonly callMs: number;
  /** Milliseconds, p50: one insert of the same size, WAL synced off the loop, measured in turn with the calls. */
  readonly insertMs: number;
  readonly ratio: number;
  readonly callsPerSecond32: number;
  /** Milliseconds, p50: ask, decide, resume, settled; and one sync beside it. */
  readonly approvalMs: number;
  /** Milliseconds, p99, with 64 callers. */
  readonly loopDelayP99Ms: number;
}

export const writeTool: AnyTool = defineTool({
  name: "write",
  description: "Writes.",
  risk: "high",
  effects: "write",
  idempotent: false,
  input: { type: "object", properties: { to: { type: "number" }, text: { type: "string" } } },
  execute: async () => "written",
});

/** `strict`: the outcome is synced too before it is told, not only the claim. */
export function openOnFile(file: string, durability?: "strict"): Promise<Runtime> {
  return createRuntime({
    tools: [writeTool],
    store: `sqlite:${file}`,
    autonomy: "A4",
    approvals: { patience: "suspend" },
    ...(durability !== undefined && { durability }),
  });
}

export async function durable(calls: number): Promise<Durable> {
  const folder = mkdtempSync(join(tmpdir(), "postern-bench-"));
  const runtime = await openOnFile(join(folder, "postern.db"));
  try {
    const { callMs, insertMs } = await alternate(runtime, folder, calls);
    const callsPerSecond32 = await together(runtime, calls * 5, 32);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await together(runtime, calls * 5, 64);
    delay.disable();
    await runtime.controls.setAutonomy("A2", { by: "bench", via: "bench" });
    const approvalMs = await approvals(runtime, Math.ceil(calls / 5));
    return {
      callMs,
      insertMs,
      ratio: callMs / insertMs,
      callsPerSecond32,
      approvalMs,
      loopDelayP99Ms: delay.percentile(99) / 1e6,
    };
  } finally {
    await runtime.close();
    rmSync(folder, { recursive: true });
  }
}

const text = "x".repeat(200);

async function alternate(
  runtime: Runtime,
  folder: string,
  calls: number,
): Promise<{ callMs: number; insertMs: number }> {
  const insert = insertBeside(join(folder, "beside.db"));
  const session = runtime.openSession();
  const callTimes: number[] = [];
  const insertTimes: number[] = [];
  for (let i = 0; i < calls; i += 1) {
    let began = performance.now();
    await session.invoke({ tool: "write", arguments: { to: i, text } });
    callTimes.push(performance.now() - began);
    began = performance.now();
    await insert(i);
    insertTimes.push(performance.now() - began);
  }
  return { callMs: median(callTimes), insertMs: median(insertTimes) };
}

/** What the ratio is measured against: one row and one event of the same size, in one synced transaction. */
function insertBeside(file: string): (i: number) => Promise<void> {
  const database = new DatabaseSync(file);
  database.exec(
    "pragma locking_mode=exclusive; pragma journal_mode=wal; pragma synchronous=normal; create table t(n integer primary key, a text, b text)",
  );
  const insert = database.prepare("insert into t values (?, ?, ?)");
  const wal = openSync(`${file}-wal`, "r+");
  const sync = promisify(fdatasync);
  return async (i) => {
    insert.run(i, text.repeat(3), text.repeat(2));
    await sync(wal);
  };
}

/** Calls a second. */
export async function together(runtime: Runtime, calls: number, inFlight: number): Promise<number> {
  let session = runtime.openSession();
  let next = 0;
  const began = performance.now();
  const caller = async (): Promise<void> => {
    while (next < calls) {
      next += 1;
      if (session.callCount >= 10_000) session = runtime.openSession();
      await session.invoke({ tool: "write", arguments: { to: next, text } });
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return (calls * 1000) / (performance.now() - began);
}

async function approvals(runtime: Runtime, cycles: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < cycles; i += 1) {
    const began = performance.now();
    const { approvalId = "" } = await runtime.invoke({ tool: "write", arguments: { to: -i, text } });
    await runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "bench" } });
    await runtime.resume(approvalId);
    times.push(performance.now() - began);
  }
  return percentile(times, 0.5);
}
