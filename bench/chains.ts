/**
 * `npm run bench:chains [-- --json] [--rounds N] [--scripts N] [--frozen N] [--pairs N] [--engine NAME]`: what a script costs
 * above the calls it makes, beside what others do (`npm run bench:peers` first); then what it costs who did not ask for it.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { quickJsDriver } from "../src/chains/drivers/javascript/driver.ts";
import { CpythonDriver } from "../src/chains/drivers/python/cpython.ts";
import { MontyDriver } from "../src/chains/drivers/python/monty.ts";
import type { Program, SandboxDriver, SandboxLimits, SandboxSession } from "../src/chains/sandbox.ts";
import { frozenScripts, neighbours } from "./chain-scenes.ts";
import { median } from "./harness.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean" },
    rounds: { type: "string" },
    scripts: { type: "string" },
    frozen: { type: "string" },
    pairs: { type: "string" },
    engine: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? 10);
const scriptCount = Number(values.scripts ?? 100);
const limits: SandboxLimits = { cpuMs: 60_000, memoryBytes: 64 << 20, outputBytes: 100_000, wallMs: 120_000 };
const tool = { name: "echo", server: undefined, short: "echo", description: "Nothing.", inputSchema: {} };

interface Subject {
  readonly name: string;
  readonly open: () => Promise<SandboxDriver & AsyncDisposable>;
  readonly language: Program["language"];
  /** `calls` calls, one after another. */
  readonly script: (calls: number) => string;
}

/** One entry an engine: every row below is made for each. */
const subjects: readonly Subject[] = [
  {
    name: "JavaScript (QuickJS)",
    open: () => quickJsDriver({ warm: 2 }),
    language: "javascript",
    script: (calls) => `for (let i = 0; i < ${calls}; i++) await tools.echo({ i })`,
  },
  {
    name: "Python (Monty)",
    open: async () => new MontyDriver({ warm: 2 }),
    language: "python",
    script: (calls) => `for i in range(${calls}):\n    tools.echo(i=i)`,
  },
  {
    name: "Python (CPython in bubblewrap)",
    open: async () => new CpythonDriver({ warm: 2 }),
    language: "python",
    script: (calls) => `for i in range(${calls}):\n    tools.echo(i=i)`,
  },
];

interface Figures {
  readonly engine: string;
  readonly coldMs: number;
  readonly fiftyCallsMs: number;
  readonly callMicroseconds: number;
  readonly privateMegabytes: number | undefined;
  readonly imageBytes: number | undefined;
  readonly freezeMs: number | undefined;
  readonly thawMs: number | undefined;
  readonly manyMs: number;
  readonly manyLoopP99Ms: number;
}

const figures: Figures[] = [];
const wanted = subjects.filter(({ name }) => values.engine === undefined || name.includes(values.engine));
for (const subject of wanted) figures.push(await figuresOf(subject));
const beside = [
  await scriptProcess("deno, a process a script", denoPath(), ["run", "--no-prompt", "-"]),
  await scriptProcess("node --permission, a process a script", process.execPath, ["--permission", "-"]),
  await scriptProcess("CPython, a process a script", "python3", ["-"]),
  await cloudflare(),
];
const frozen = [];
for (const engine of ["quickjs", "monty"]) frozen.push(await frozenScripts(engine, Number(values.frozen ?? 100)));
const beneath = await neighbours(Number(values.pairs ?? 5), 500);
const machine = {
  node: process.version,
  cores: cpus().length,
  model: cpus()[0]?.model ?? "unknown",
  load: loadavg()[0] ?? 0,
};
if (values.json === true)
  console.log(JSON.stringify({ machine, figures, beside, frozen, neighbours: beneath }, null, 2));
else {
  console.table(figures);
  console.table(beside);
  console.table(frozen);
  console.table(beneath);
  console.log(`Load ${machine.load.toFixed(1)} on ${machine.cores} cores.`);
}

async function figuresOf(subject: Subject): Promise<Figures> {
  const coldMs = await cold(subject);
  await using driver = await subject.open();
  const program = (calls: number): Program => ({
    language: subject.language,
    source: subject.script(calls),
    tools: [tool],
    chainId: "bench",
  });
  await runOnce(driver, program(1));
  const fifty: number[] = [];
  const perCall: number[] = [];
  for (let i = 0; i < rounds; i++) {
    await warmedUp();
    fifty.push(await timed(() => runOnce(driver, program(50))));
    await warmedUp();
    perCall.push((await callTime(driver, program(2_000))) * 1_000);
  }
  const frozen = driver.capabilities.durability === "snapshot" ? await freezing(driver, program(2)) : undefined;
  const held = await heldMegabytes(driver, program(1));
  const many = await together(driver, program(5));
  return {
    engine: subject.name,
    coldMs,
    fiftyCallsMs: median(fifty),
    callMicroseconds: median(perCall),
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

async function runOnce(driver: SandboxDriver, program: Program): Promise<void> {
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

/** Milliseconds a call, once the script runs. */
async function callTime(driver: SandboxDriver, program: Program): Promise<number> {
  await using session = await driver.start(program, limits);
  await session.next();
  await session.settle([{ place: 0, status: "ok", value: { text: "ok" } }]);
  return (await timed(() => toEnd(session))) / 1_999;
}

async function freezing(driver: SandboxDriver, program: Program) {
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
async function heldMegabytes(driver: SandboxDriver, program: Program): Promise<number | undefined> {
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
async function together(driver: SandboxDriver, program: Program) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const ms = await timed(async () => {
    await Promise.all(Array.from({ length: scriptCount }, () => runOnce(driver, program)));
  });
  delay.disable();
  return { manyMs: ms, manyLoopP99Ms: delay.percentile(99) / 1e6 };
}

/** What others do: a new process for every script, fifty lines over its pipe and back. */
async function scriptProcess(who: string, command: string | undefined, args: readonly string[]) {
  if (command === undefined) return { who, problem: "not here" };
  const program = command.includes("python")
    ? "import sys\nfor i in range(50):\n  print(i, flush=True)\n  sys.stdin.readline()\n"
    : `const lines = (async function* () { let text = ""; for await (const chunk of globalThis.Deno ? Deno.stdin.readable : process.stdin) { text += new TextDecoder().decode(chunk); for (let at; (at = text.indexOf("\\n")) >= 0; text = text.slice(at + 1)) yield text.slice(0, at) } })();
const write = globalThis.Deno ? (t) => Deno.stdout.writeSync(new TextEncoder().encode(t)) : (t) => process.stdout.write(t);
for (let i = 0; i < 50; i++) { write(i + "\\n"); await lines.next() } (globalThis.Deno ?? process).exit(0)`;
  const times: number[] = [];
  try {
    for (let i = 0; i < Math.min(rounds, 5); i++)
      times.push(await timed(() => conversation(command, withProgram(command, args, program))));
  } catch (error) {
    return { who, problem: String(error).slice(0, 100) };
  }
  return { who, fiftyCallsMs: median(times) };
}

/** Cloudflare's executor where it is installed: its own server is warm, and each script gets a fresh isolate in it. */
async function cloudflare() {
  const who = "@cloudflare/codemode in workerd, an isolate a script";
  try {
    const { codemode } = await import("./peers/codemode-row.mjs");
    const { startMs, none, one, fifty, many } = await codemode(rounds);
    const request = median(none);
    return {
      who,
      coldMs: startMs,
      oneCallMs: median(one) - request,
      fiftyCallsMs: median(fifty) - request,
      callMicroseconds: ((median(many) - median(fifty)) / 1_950) * 1_000,
    };
  } catch (error) {
    return { who, problem: String(error).slice(0, 100) };
  }
}

/** Standard input is the bridge, so the program comes as an argument. */
function withProgram(command: string, args: readonly string[], program: string): readonly string[] {
  const flags = args.filter((arg) => arg !== "-");
  if (command.includes("python")) return [...flags, "-c", program];
  if (command.includes("deno")) return ["eval", program];
  return [...flags, "--no-warnings", "--input-type=module", "-e", program];
}

function conversation(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { HOME: "/tmp", NO_COLOR: "1" },
    });
    let seen = 0;
    child.stdin.on("error", () => undefined); // it leaves without reading the last answer
    child.stdout.on("data", (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) child.stdin.write(`${seen++}\n`);
    });
    child.once("error", reject);
    child.once("close", () => (seen >= 50 ? resolve() : reject(new Error(`It stopped after ${seen} calls.`))));
  });
}

function denoPath(): string | undefined {
  const path = "node_modules/deno/deno";
  if (!existsSync(path)) return undefined;
  execFileSync(path, ["--version"], { stdio: "ignore" });
  return path;
}

/** Warm processes start in the background; a row that measures a warm one waits until they are there. */
function warmedUp(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 400));
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
