import { SystemClock } from "../../packages/core/src/clock.ts";
import type {
  SandboxDriver,
  SandboxLimits,
  SandboxSession,
  ScriptProgram,
  SettledCall,
} from "../../packages/core/src/sandbox/sandbox.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import {
  createRuntime,
  defineTool,
  type Json,
  type Runtime,
  type RuntimeOptions,
} from "../../packages/postern/src/index.ts";

/** All that scripts can run in here. */
const all = ["quickjs", "cpython", "pyodide"] as const;

export interface EngineUnderTest {
  readonly name: string;
  readonly language: "javascript" | "python";
  readonly driver: SandboxDriver & AsyncDisposable;
  /** Why the engine cannot run here. */
  readonly missing: string | undefined;
}

export async function enginesHere(names: readonly string[] = all): Promise<readonly EngineUnderTest[]> {
  const clock = new SystemClock();
  return Promise.all(
    names.map(async (name) => {
      const driver = await knownEngines.get(name)?.(clock);
      if (driver === undefined) throw new Error(`There is no engine \`${name}\`.`);
      const missing = await driver.unavailable();
      if (missing !== undefined) console.warn(`SKIPPED: ${name}: ${missing}`);
      return { name, language: driver.capabilities.language, driver, missing };
    }),
  );
}

/** What an engine received. */
export interface Seen {
  readonly programs: ScriptProgram[];
  readonly limits: SandboxLimits[];
  readonly sessions: SandboxSession[];
  readonly settled: SettledCall[];
}

export interface RecordedDriverOptions {
  readonly seen: Seen;
  /** The number of steps after which the next one throws. */
  readonly tornAfter?: number;
}

/** Wraps an engine and records what it receives. The runtime does not close it. */
export function recordedDriver(driver: SandboxDriver, { seen, tornAfter }: RecordedDriverOptions): SandboxDriver {
  const session = (made: SandboxSession): SandboxSession => {
    let steps = 0;
    const spied: SandboxSession = {
      next: (passedMs) => {
        if (tornAfter !== undefined && steps++ >= tornAfter) throw new Error("wire torn");
        return made.next(passedMs);
      },
      settle: (results) => {
        seen.settled.push(...results);
        return made.settle(results);
      },
      freeze: () => made.freeze(),
      kill: () => made.kill(),
      [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
    };
    seen.sessions.push(made);
    return spied;
  };
  const { name, capabilities } = driver;
  return {
    ...{ name, capabilities },
    get engine() {
      return driver.engine; // known when it has checked something
    },
    unavailable: () => driver.unavailable(),
    check: async (program) => driver.check?.(program),
    start: async (program, limits) => {
      seen.programs.push(program);
      seen.limits.push(limits);
      return session(await driver.start(program, limits));
    },
    restore: async (image, limits) => session(await driver.restore(image, limits)),
  };
}

export const bigText: string = "line of text\n".repeat(20_000);

export interface EngineFixture extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly seen: Seen;
  /** The arguments of `count` and of the tools with effects. */
  readonly ran: Json[];
}

/** A runtime with one engine and a few tools: `echo` returns its text, `report` a long text, `count` a length. */
export async function engineFixture({ driver }: EngineUnderTest, options: RuntimeOptions = {}): Promise<EngineFixture> {
  return fixtureWithEngine((seen) => [recordedDriver(driver, { seen })], options);
}

export async function fixtureWithEngine(
  driversFor: (seen: Seen) => readonly SandboxDriver[],
  options: RuntimeOptions = {},
): Promise<EngineFixture> {
  const ran: Json[] = [];
  const seen: Seen = { programs: [], limits: [], sessions: [], settled: [] };
  const drivers = driversFor(seen);
  const runtime = await createRuntime({
    tools: toolsFor(ran),
    approvals: { patience: "suspend" },
    ...options,
    chains: { drivers, engines: drivers.map(({ name }) => name), cpuMs: 20_000, ...options.chains },
  });
  return { runtime, seen, ran, [Symbol.asyncDispose]: () => runtime.close() };
}

function toolsFor(ran: Json[]): ReturnType<typeof defineTool>[] {
  const safe = { risk: "safe", effects: "read", idempotent: true } as const;
  const effect = { effects: "write", idempotent: false } as const;
  const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
  const textOf = (given: unknown): string => (given as { readonly text: string }).text; // the schema says so
  const noted = (given: unknown): string => {
    ran.push(textOf(given));
    return `did ${textOf(given)}`;
  };
  return [
    defineTool({ ...safe, name: "echo", description: "Says it again.", input, execute: textOf }),
    defineTool({ ...safe, name: "query_db", description: "Rows.", input, execute: () => ({ rows: [1, 2] }) }),
    defineTool({ ...safe, name: "report", description: "Much text.", execute: () => bigText }),
    defineTool({
      ...safe,
      name: "count",
      description: "Counts characters.",
      input,
      execute: (given) => {
        ran.push(textOf(given).length);
        return { characters: textOf(given).length };
      },
    }),
    defineTool({
      ...safe,
      name: "hold",
      description: "Never ends by itself.",
      execute: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", reject)),
    }),
    defineTool({ ...effect, name: "note", description: "Notes.", risk: "safe", input, execute: noted }),
    defineTool({ ...effect, name: "mail", description: "Sends.", risk: "high", input, execute: noted }),
  ];
}

export interface ChainResult {
  readonly status: string;
  readonly output_text: string;
  readonly logs: string;
  readonly error: string | null;
  readonly error_kind?: string;
  readonly tool_calls: number;
  readonly output_blocks_refs: readonly string[];
  readonly call_trace: readonly { readonly tool: string; readonly status: string; readonly code?: string }[];
  readonly engine?: string;
}

export function resultOf(outcome: { readonly structured?: Json } | undefined): ChainResult {
  return outcome?.structured as unknown as ChainResult; // what tool_chain answers (SPEC 3.8)
}

/** Returns the complete result, also if it was too big to be inline. */
export async function wholeResultOf(
  { runtime }: EngineFixture,
  outcome: { readonly structured?: Json; readonly callId: string },
): Promise<ChainResult> {
  const { $artifact: digest } = (outcome.structured ?? {}) as { readonly $artifact?: string }; // either form has an object
  if (digest === undefined) return resultOf(outcome);
  const record = await runtime.calls.get(outcome.callId);
  if (record === undefined) throw new Error("The call is not on record.");
  const { bytes } = await runtime.artifacts.open(digest, record.call.authority.principal);
  const kept = JSON.parse(Buffer.from(bytes).toString());
  return kept.structured ?? kept;
}
