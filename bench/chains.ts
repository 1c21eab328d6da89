/**
 * `npm run bench -- chains [--quick] [--json] [--rounds N] [--scripts N] [--frozen N] [--engine NAME]`:
 * what a script costs above the calls it makes, beside what others do (`npm run bench -- peers` first). With
 * `--engine` that engine's rows alone; `--quick` ends within a minute. Processes run what the package ships: one file each, made as `npm run build` makes it.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { basename, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type {
  SandboxDriver,
  SandboxLimits,
  SandboxSession,
  ScriptProgram,
} from "../packages/core/src/sandbox/sandbox.ts";
import { CpythonDriver } from "../packages/engines/src/cpython/cpython.ts";
import { quickJsDriver } from "../packages/engines/src/quickjs/driver.ts";
import { bundleChild } from "../scripts/bundle-children.ts";
import { cacheMissNanoseconds } from "./cache-miss.ts";
import { againstBars, type EngineFigures } from "./chain-figures.ts";
import { others } from "./chain-peers.ts";
import {
  amongManyTools,
  type FrozenFigures,
  frozenScripts,
  type ManyToolsFigures,
  type WholeFigures,
  wholePath,
} from "./chain-scenes.ts";
import { median, timed } from "./harness.ts";
import { roundTrip } from "./round-trip.ts";
import { stolenSince } from "./stolen.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean" },
    quick: { type: "boolean" },
    rounds: { type: "string" },
    scripts: { type: "string" },
    frozen: { type: "string" },
    engine: { type: "string" },
  },
});
const isQuick = values.quick === true;
const stolen = stolenSince();
const rounds = Number(values.rounds ?? (isQuick ? 2 : 10));
const scriptCount = Number(values.scripts ?? (isQuick ? 20 : 100));
const frozenCount = Number(values.frozen ?? (isQuick ? 100 : 10_000));
const cache = join(import.meta.dirname, "..", "node_modules", ".cache"); // packages are found from there
mkdirSync(cache, { recursive: true });
const built = mkdtempSync(join(cache, "bench-children-"));
process.once("exit", () => rmSync(built, { recursive: true, force: true }));
const program = async (name: string): Promise<string> => {
  const file = join(built, `${basename(name)}.mjs`);
  await bundleChild(fileURLToPath(new URL(`../src/engines/${name}.ts`, import.meta.url)), file);
  return file;
};
const quickjs = await program("quickjs/inside-quickjs");
chmodSync(built, 0o755); // they run as nobody
const limits: SandboxLimits = { cpuMs: 60_000, memoryBytes: 64 << 20, outputBytes: 100_000, wallMs: 120_000 };
/** As many as a script may make, unless a configuration says otherwise. */
const ordinaryCalls = 50;
/** Long enough for host and sandbox to have a processor each (round-trip.ts). */
const longCalls = 2_000;
const tool = { name: "echo", server: undefined, short: "echo", description: "Nothing.", inputSchema: {} };

interface Subject {
  readonly name: string;
  /** As it is called in a configuration. */
  readonly engine: string;
  /** How many of its scripts wait at once. */
  readonly frozen: number;
  readonly open: () => Promise<SandboxDriver & AsyncDisposable>;
  readonly language: ScriptProgram["language"];
  /** `calls` calls, one after another. */
  readonly script: (calls: number) => string;
}

/** One entry an engine: every row below is made for each. */
const subjects: readonly Subject[] = [
  {
    ...{ name: "JavaScript (QuickJS)", engine: "quickjs", frozen: frozenCount },
    open: () => quickJsDriver({ program: quickjs }),
    language: "javascript",
    script: (calls) => `for (let i = 0; i < ${calls}; i++) await tools.echo({ i })`,
  },
  {
    ...{ name: "Python (CPython in bubblewrap)", engine: "cpython", frozen: Math.min(frozenCount, 100) },
    open: async () => new CpythonDriver({ warm: 2 }),
    language: "python",
    script: (calls) => `for i in range(${calls}):\n    tools.echo(i=i)`,
  },
];

const only = values.engine?.toLowerCase();
const wanted = subjects.filter(
  ({ name, engine }) => only === undefined || `${name} ${engine}`.toLowerCase().includes(only),
);
const figures: EngineFigures[] = [];
const whole: WholeFigures[] = [];
const frozen: FrozenFigures[] = [];
const amongMany: ManyToolsFigures[] = [];
const runs = { rounds: isQuick ? rounds : 2 * rounds, scriptsBefore: isQuick ? 60 : 800 };
// First of all: what else is measured makes their process one that no server is.
for (const { open } of wanted)
  for (const kept of ["in memory", "on a disk"] as const) whole.push(...(await wholePath(open, { ...runs, kept })));
for (const subject of wanted) figures.push(await figuresOf(subject));
for (const { open, frozen: count } of wanted) {
  frozen.push(await frozenScripts(open, count));
  if (!isQuick) for (const tools of [1, 1_000]) amongMany.push(await amongManyTools(open, tools, rounds));
}
const peers = only === undefined ? await others(rounds) : [];
const machine = {
  node: process.version,
  cores: cpus().length,
  model: cpus()[0]?.model ?? "unknown",
  load: loadavg()[0] ?? 0,
  roundTripMicroseconds: await roundTrip(),
  cacheMissNanoseconds: cacheMissNanoseconds(),
  stolenShare: stolen(),
};
if (values.json === true)
  console.log(JSON.stringify({ machine, figures, whole, beside: peers, frozen, amongMany }, null, 2));
else {
  console.table(figures);
  console.table(frozen);
  if (amongMany.length > 0) console.table(amongMany);
  console.table(againstBars({ engines: figures, whole, frozen, beside: peers }));
  const { atFirst, later } = machine.roundTripMicroseconds;
  const floor = `${atFirst.toFixed(0)} µs for two processes that do nothing but wake each other, ${later.toFixed(0)} once each has a processor of its own`;
  const taken =
    machine.stolenShare === undefined
      ? ""
      : ` Other machines of this host had ${(100 * machine.stolenShare).toFixed(1)} % of what was computed.`;
  const miss = `${machine.cacheMissNanoseconds.toFixed(0)} ns for a load from 4 MB`;
  console.log(`Load ${machine.load.toFixed(1)} on ${machine.cores} cores; ${floor}, ${miss}.${taken}`);
}

async function figuresOf(subject: Subject): Promise<EngineFigures> {
  const coldMs = await cold(subject);
  await using driver = await subject.open();
  const program = (calls: number): ScriptProgram => ({
    language: subject.language,
    source: subject.script(calls),
    tools: [tool],
    chainId: "bench",
    owner: "bench",
  });
  await runOnce(driver, program(1));
  const fifty: number[] = [];
  const perCall = new Map<number, number[]>([ordinaryCalls, longCalls].map((calls) => [calls, []]));
  for (let i = 0; i < rounds; i++) {
    await warmedUp();
    fifty.push(await timed(() => runOnce(driver, program(ordinaryCalls))));
    for (const [calls, times] of perCall) {
      await warmedUp();
      times.push((await callMs(driver, program(calls), calls)) * 1_000);
    }
  }
  const frozen = driver.capabilities.durability === "snapshot" ? await freezing(driver, program(2)) : undefined;
  const held = await heldMegabytes(driver, program(1));
  const many = await together(driver, program(5));
  return {
    engine: subject.name,
    coldMs,
    fiftyCallsMs: median(fifty),
    callMicroseconds: median(perCall.get(ordinaryCalls) ?? []),
    longCallMicroseconds: median(perCall.get(longCalls) ?? []),
    privateMegabytes: held,
    imageBytes: frozen?.bytes,
    freezeMs: frozen?.freezeMs,
    thawMs: frozen?.thawMs,
    ...many,
  };
}

/** With nothing kept warm: from the order to the first call. */
async function cold(subject: Subject): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < Math.min(rounds, 5); i++) {
    await using driver = await subject.open();
    const begun = performance.now();
    await using session = await driver.start(
      { language: subject.language, source: subject.script(1), tools: [tool], chainId: "bench" },
      limits,
    );
    await session.next();
    times.push(performance.now() - begun);
  }
  return median(times);
}

async function runOnce(driver: SandboxDriver, program: ScriptProgram): Promise<void> {
  await using session = await driver.start(program, limits);
  await toEnd(session);
}

async function toEnd(session: SandboxSession): Promise<void> {
  for (;;) {
    const step = await session.next();
    if (step.step === "failed") throw new Error(step.message);
    if (step.step === "done") return;
    await session.settle(step.calls.map(({ place }) => ({ place, status: "ok", value: { text: "ok", status: "ok" } })));
  }
}

/** Milliseconds from a call's result to the next call. The script comes to its end, since its process serves the next one. */
async function callMs(driver: SandboxDriver, program: ScriptProgram, calls: number): Promise<number> {
  await using session = await driver.start(program, limits);
  let step = await session.next();
  const began = performance.now();
  let last = began;
  for (let place = 0; step.step === "calls"; place++) {
    last = performance.now();
    await session.settle([{ place, status: "ok", value: { text: "ok", status: "ok" } }]);
    step = await session.next();
  }
  if (step.step === "failed") throw new Error(step.message);
  return (last - began) / (calls - 1);
}

async function freezing(driver: SandboxDriver, program: ScriptProgram) {
  const freezes: number[] = [];
  const thaws: number[] = [];
  let bytes = 0;
  for (let i = 0; i < rounds; i++) {
    await warmedUp();
    await using session = await driver.start(program, limits);
    await session.next();
    const begun = performance.now();
    const image = await session.freeze();
    freezes.push(performance.now() - begun);
    bytes = image.byteLength;
    await warmedUp();
    const again = performance.now();
    await using thawed = await driver.restore(image, limits);
    await thawed.settle([{ place: 0, status: "ok", value: { text: "ok" } }]);
    await thawed.next();
    thaws.push(performance.now() - again);
  }
  return { bytes, freezeMs: median(freezes), thawMs: median(thaws) };
}

/** What the process of a waiting script has for itself, shared pages left out. */
async function heldMegabytes(driver: SandboxDriver, program: ScriptProgram): Promise<number | undefined> {
  await using session = await driver.start(program, limits);
  await session.next();
  const path = `/proc/${"pid" in session ? session.pid : 0}/smaps_rollup`;
  if (!existsSync(path)) return undefined;
  const kilobytes = [...readFileSync(path, "utf8").matchAll(/^Private_\w+:\s+(\d+)/gm)].reduce(
    (sum, [, kb]) => sum + Number(kb),
    0,
  );
  return kilobytes / 1_024;
}

/** Many scripts at once, and how late the event loop of the host was meanwhile. */
async function together(driver: SandboxDriver, program: ScriptProgram) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const ms = await timed(async () => {
    await Promise.all(Array.from({ length: scriptCount }, () => runOnce(driver, program)));
  });
  delay.disable();
  return { manyMs: ms, manyLoopP99Ms: delay.percentile(99) / 1e6 };
}

/** Warm processes start in the background; a row that measures a warm one waits until they are there. */
function warmedUp(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 400));
}
