/**
 * `node --expose-gc bench/runs.ts [--seconds N] [--json]`: what a call pays for its run folder. Two runtimes side by side, one
 * with folders and one without, in turns, so that both meet the same machine; medians of the turns.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime, defineTool, type Runtime } from "../packages/postern/src/index.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "20" }, json: { type: "boolean" } } });
const callsATurn = 2_000;
const pauseMs = 120;
const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  execute: (given) => {
    const { a, b } = given as { readonly a: number; readonly b: number }; // the schema says so
    return String(a + b);
  },
});
const folder = mkdtempSync(join(tmpdir(), "postern-bench-runs-"));
const rows = {
  off: await createRuntime({ tools: [add], autonomy: "A2" }),
  on: await createRuntime({ tools: [add], autonomy: "A2", archive: { folder } }),
} as const;
type Turn = Awaited<ReturnType<typeof measure>>;
const told: Readonly<Record<"off" | "on", Turn[]>> = { off: [], on: [] };

const until = performance.now() + Number(values.seconds) * 1_000;
let turns = 0;
for (let turn = 0; performance.now() < until; turn += 1) {
  for (const name of turn % 2 === 0 ? (["off", "on"] as const) : (["on", "off"] as const)) {
    const measured = await measure(rows[name]);
    if (turn >= 5) told[name].push(measured);
  }
  turns += 1;
}
const written = await rows.on.runs?.get({ runId: "bench" });
await rows.on.close();
await rows.off.close();
rmSync(folder, { recursive: true });

const result = {
  microsecondsACall: { off: median(told.off, "call"), on: median(told.on, "call") },
  withSpellingAndWriting: { off: median(told.off, "cpu"), on: median(told.on, "cpu") },
  turns: told.on.length,
  callsATurn,
  complete: written?.counts.completed === turns * callsATurn,
};
if (values.json === true) console.log(JSON.stringify(result, null, 2));
else {
  const { microsecondsACall: call, withSpellingAndWriting: cpu } = result;
  console.log(`a call, until it is answered: ${call.off} µs without a run folder, ${call.on} µs with one`);
  console.log(`CPU of the process a call, spelling and writing included: ${cpu.off} µs without, ${cpu.on} µs with`);
  console.log(
    `medians of ${result.turns} turns of ${callsATurn} calls; folder ${result.complete ? "complete" : "NOT COMPLETE"}`,
  );
}

/** Calls one after another, then a pause in which what was put off is done. */
async function measure(runtime: Runtime): Promise<{ readonly call: number; readonly cpu: number }> {
  globalThis.gc?.();
  const session = runtime.openSession({}, { runId: "bench" });
  const before = process.cpuUsage();
  const began = performance.now();
  for (let i = 0; i < callsATurn; i += 1) await session.invoke({ tool: "add", arguments: { a: i, b: 1 } });
  const call = performance.now() - began;
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  await runtime.runs?.flush();
  const { user, system } = process.cpuUsage(before);
  await session.close();
  return { call: (call * 1_000) / callsATurn, cpu: (user + system) / callsATurn };
}

function median(turns: readonly Turn[], of: keyof Turn): number {
  const sorted = turns.map((turn) => turn[of]).sort((one, other) => one - other);
  return Math.round((sorted[Math.floor(sorted.length / 2)] ?? 0) * 10) / 10;
}
