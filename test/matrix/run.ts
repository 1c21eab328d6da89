/**
 * Which Python each engine speaks: every program on each engine, and on the chain as it moves from one to the next, beside
 * what plain CPython makes of it.
 *
 *     npm run matrix -- --json [--engine chain] [--programs path/to/cases.mjs]
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { SystemClock } from "../../src/calls/clock.ts";
import { knownEngines } from "../../src/chains/known-engines.ts";
import type { SandboxDriver, Step } from "../../src/chains/sandbox.ts";
import { type Ending, plainPython } from "./plain-python.ts";
import { type MatrixProgram, matrixPrograms } from "./programs.ts";

interface Row {
  readonly engine: string;
  readonly program: string;
  readonly result: string;
  readonly expected: string;
  readonly same: boolean;
}

const limits = { cpuMs: 10_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 100_000, wallMs: 60_000 };
const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, engine: { type: "string", multiple: true }, programs: { type: "string" } },
});

const programs = options.programs === undefined ? matrixPrograms : await programsOf(options.programs);
const expected = plainPython(programs).map(textOf);
const drivers = await pythonDrivers();
const wanted = options.engine ?? ["chain", ...drivers.map(({ name }) => name)];
const rows: Row[] = [];
for (const engine of wanted) rows.push(...(await rowsOf(engine)));
report();
await Promise.race([
  Promise.all(drivers.map((driver) => driver[Symbol.asyncDispose]())),
  new Promise((done) => setTimeout(done, 2_000)),
]);
process.exit(0);

async function programsOf(path: string): Promise<readonly MatrixProgram[]> {
  // A module that exports `cases`: a program by its name.
  const { cases } = (await import(pathToFileURL(resolve(path)).href)) as {
    readonly cases: Readonly<Record<string, string>>;
  };
  return Object.entries(cases).map(([name, source]) => ({ name, source }));
}

/** Those that can run here; the others are named on standard error. */
async function pythonDrivers(): Promise<readonly (SandboxDriver & AsyncDisposable)[]> {
  const clock = new SystemClock();
  const found: (SandboxDriver & AsyncDisposable)[] = [];
  for (const [name, load] of knownEngines) {
    const driver = await load(clock);
    const problem = await driver.unavailable();
    if (driver.capabilities.language !== "python") continue;
    if (problem === undefined) found.push(driver);
    else console.error(`${name} cannot run here: ${problem}`);
  }
  return found;
}

async function rowsOf(engine: string): Promise<readonly Row[]> {
  const order = engine === "chain" ? drivers : drivers.filter(({ name }) => name === engine);
  if (order.length === 0) throw new Error(`There is no engine \`${engine}\` here.`);
  const found: Row[] = [];
  for (const [at, program] of programs.entries()) {
    const result = textOf(await endingOn(order, program));
    const wantedEnd = expected[at] ?? "";
    found.push({ engine, program: program.name, result, expected: wantedEnd, same: result === wantedEnd });
  }
  return found;
}

/** From engine to engine, as a chain moves. */
async function endingOn(order: readonly SandboxDriver[], { name, source }: MatrixProgram): Promise<Ending> {
  const program = { language: "python", source, tools: [], chainId: name } as const;
  let last: Ending = { error: "Unsupported" };
  for (const driver of order) {
    const checked = await driver.check?.(program);
    if (checked !== undefined && "invalid" in checked) return { error: "Invalid" };
    if (checked !== undefined) continue;
    await using session = await driver.start(program, limits);
    const step = await session.next();
    last = endingOf(step);
    if (step.step !== "failed" || step.why !== "unsupported") return last;
  }
  return last;
}

function endingOf(step: Step): Ending {
  const printed = (step.printed ?? [])
    .filter(({ stream }) => stream === "out")
    .map(({ text }) => text)
    .join("");
  if (step.step === "done") return { value: step.value ?? null, printed };
  if (step.step === "failed")
    return { error: step.why === "script" ? (/^\w+/.exec(step.message)?.[0] ?? "") : step.why };
  return { error: "Called" };
}

function textOf(ending: Ending): string {
  return JSON.stringify(ending);
}

function report(): void {
  if (options.json === true) {
    console.log(JSON.stringify(rows, null, 1));
    return;
  }
  for (const row of rows.filter(({ same }) => !same))
    console.log(`${row.engine.padEnd(8)} ${row.program.padEnd(18)} ${row.result}  (CPython: ${row.expected})`);
  for (const engine of wanted) {
    const own = rows.filter((row) => row.engine === engine);
    const same = own.filter((row) => row.same).length;
    console.log(`${engine}: ${same} of ${own.length} as CPython (${((100 * same) / own.length).toFixed(1)} %)`);
  }
}
