/**
 * `npm run bench [-- --json] [--quick] [--only id,id]`: our path beside peers in one process, then what is durable (`--only
 * durable`: that alone). Fails if a call takes more CPU time, as a multiple of a peer's, than `limits` says.
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { createRuntime, defineTool, type RuntimeSession } from "../packages/postern/src/index.ts";
import { type Durable, durable } from "./durable.ts";
import { type DurableRow, durablePeers } from "./durable-peers.ts";
import { type Measured, measure, median, type Row } from "./harness.ts";
import { mcpRow } from "./mcp-row.ts";
import { ours } from "./rows.ts";

const { values } = parseArgs({
  options: { json: { type: "boolean" }, quick: { type: "boolean" }, only: { type: "string" } },
});
const quick = values.quick === true;
// Many rounds, because the ratios are of the fastest ones: a busy machine slows some of them down.
const options = { calls: quick ? 4_000 : 20_000, rounds: quick ? 9 : 7, inFlight: 32 };

/** About one and a half times what `--quick` measures (docs/reference/benchmarks.md), so that a busy machine passes and a lost factor does not. */
const limits: ReadonlyMap<string, number> = new Map([
  ["mcp1", 4],
  ["langchain", 3.2],
]);

const { rows: peers } = (await import("./peers/rows.mjs")) as { readonly rows: readonly Row[] };
const wanted = values.only?.split(",");
const rows = [...ours, mcpRow, ...peers].filter(({ id }) => wanted === undefined || wanted.includes(id));
const machine = {
  node: process.version,
  cores: cpus().length,
  model: cpus()[0]?.model ?? "unknown",
  load: loadavg()[0] ?? 0,
};
const core = await measure(rows, { ...options, state: "fresh" });
const grown = await measure(rows, { ...options, state: "kept" });
const flat = wanted === undefined ? await flatness() : undefined;
const ratios = ratiosOf(grown);
const isDurable = wanted === undefined || wanted.includes("durable");
const kept = isDurable ? await durable(quick ? 200 : 1_000) : undefined;
const beside = isDurable ? await durablePeers({ rounds: quick ? 3 : 5, inFlight: options.inFlight }) : undefined;

if (values.json === true)
  console.log(JSON.stringify({ machine, options, core, ratios, grown, flat, durable: kept, beside }, null, 2));
else {
  printMachine();
  if (core.length > 0) {
    print("Each round begins anew", core);
    print("Opened once, and growing with every call", grown);
    printRatios(ratios);
  }
  if (flat !== undefined) printFlat(flat);
  if (kept !== undefined) printKept(kept);
  if (beside !== undefined) printBeside(beside);
}

if (ratios.some(({ ratio, limit }) => ratio > limit)) process.exitCode = 1;

interface Ratio {
  readonly who: string;
  readonly ratio: number;
  readonly limit: number;
}

/** The CPU time of a call in a session that stays open, over that of a call of each peer that is installed. */
function ratiosOf(measured: readonly Measured[]): readonly Ratio[] {
  const ours = measured.find(({ id }) => id === "postern")?.cpuMicroseconds;
  return measured.flatMap(({ id, who, cpuMicroseconds: theirs }) => {
    const limit = limits.get(id);
    if (ours === undefined || theirs === undefined || limit === undefined) return [];
    return [{ who, ratio: ours / theirs, limit }];
  });
}

interface Flatness {
  readonly firstMicroseconds: number;
  readonly lastMicroseconds: number;
  /** In a store that holds so many calls already. */
  readonly grown: { readonly calls: number; readonly microseconds: number };
}

/** Is call 10,000 of a session slower than call 10? Microseconds a call near the beginning, near the end, and in a store that grew. */
async function flatness(): Promise<Flatness> {
  const noop = defineTool({
    name: "noop",
    description: "Does nothing.",
    risk: "safe",
    effects: "read",
    idempotent: true,
    input: { type: "object" },
    execute: async () => "",
  });
  await using runtime = await createRuntime({ tools: [noop], autonomy: "A2" });
  const stretch = async (calls: number, session: RuntimeSession): Promise<number> => {
    const began = performance.now();
    for (let i = 0; i < calls; i += 1) await session.invoke({ tool: "noop" });
    return ((performance.now() - began) * 1000) / calls;
  };
  const first: number[] = [];
  const last: number[] = [];
  const sessions = quick ? 7 : 30;
  for (let round = 0; round < sessions; round += 1) {
    const session = runtime.openSession();
    await stretch(10, session);
    first.push(await stretch(1_000, session));
    await stretch(7_980, session);
    last.push(await stretch(1_000, session));
  }
  return {
    firstMicroseconds: median(first.slice(0, 7)),
    lastMicroseconds: median(last.slice(0, 7)),
    grown: { calls: sessions * 10_000, microseconds: median(last.slice(-3)) },
  };
}

function printMachine(): void {
  console.log(
    `Node ${machine.node}, ${machine.cores} cores (${machine.model}), load ${machine.load.toFixed(2)}; medians of interleaved rounds in one process`,
  );
}

function print(title: string, measured: readonly Measured[]): void {
  console.log(`\n${title}:`);
  console.log("\n| path | what | µs a call (fastest–slowest) | calls a second, 32 in flight |\n|---|---|---:|---:|");
  for (const {
    who,
    what,
    microsecondsPerCall = Number.NaN,
    fastest,
    slowest,
    callsPerSecond = Number.NaN,
    problem,
  } of measured) {
    if (problem !== undefined) console.log(`| ${who} | ${what} | not run: ${problem.slice(0, 80)} | |`);
    else
      console.log(
        `| ${who} | ${what} | ${microsecondsPerCall.toFixed(1)} (${fastest?.toFixed(1)}–${slowest?.toFixed(1)}) | ${Math.round(callsPerSecond).toLocaleString("en")} |`,
      );
  }
}

function printRatios(ratios: readonly Ratio[]): void {
  for (const { who, ratio, limit } of ratios)
    console.log(
      `\nPostern takes ${ratio.toFixed(2)} × the CPU time of ${who} (limit ${limit})${ratio > limit ? ": TOO SLOW" : ""}`,
    );
}

function printFlat({ firstMicroseconds, lastMicroseconds, grown: { calls, microseconds } }: Flatness): void {
  console.log(
    `\nIn a session of 10,000 calls: ${firstMicroseconds.toFixed(1)} µs at the beginning, ${lastMicroseconds.toFixed(1)} µs at the end; ${microseconds.toFixed(1)} µs in a store of ${calls.toLocaleString("en")} calls.`,
  );
}

function printKept(kept: Durable): void {
  console.log(
    `\nOn a file: a call above safe ${kept.callMs.toFixed(3)} ms p50, one synced insert beside it ${kept.insertMs.toFixed(3)} ms (ratio ${kept.ratio.toFixed(2)});`,
  );
  console.log(
    `32 in flight ${Math.round(kept.callsPerSecond32).toLocaleString("en")} calls a second; approval cycle ${kept.approvalMs.toFixed(2)} ms p50; event loop delay p99 with 64 callers ${kept.loopDelayP99Ms.toFixed(1)} ms.`,
  );
}

function printBeside(measured: readonly DurableRow[]): void {
  console.log(
    `\n| durable, ${options.inFlight} in flight | what | steps a second (slowest–fastest round) |\n|---|---|---:|`,
  );
  const whole = (value = Number.NaN): string => Math.round(value).toLocaleString("en");
  for (const { who, what, stepsPerSecond, slowest, fastest, problem } of measured) {
    const told = problem === undefined ? `${whole(stepsPerSecond)} (${whole(slowest)}–${whole(fastest)})` : "";
    console.log(`| ${who} | ${problem === undefined ? what : `not run: ${problem.slice(0, 80)}`} | ${told} |`);
  }
}
