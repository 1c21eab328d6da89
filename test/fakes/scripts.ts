import type {
  AskedCall,
  SandboxDriver,
  SandboxLimits,
  SandboxSession,
  ScriptStep,
  SettledCall,
  ToolSketch,
} from "../../packages/core/src/sandbox/sandbox.ts";
import { quickJsDriver, type WarmDriver } from "../../packages/engines/src/quickjs/driver.ts";

/** Wide enough for a busy machine; a test of a limit sets its own. */
export const roomyLimits: SandboxLimits = {
  cpuMs: 20_000,
  memoryBytes: 64 << 20,
  outputBytes: 100_000,
  wallMs: 60_000,
};

export function sketch(name: string, server?: string): ToolSketch {
  const short = server === undefined ? name : name.slice(server.length + 1);
  return { name, server, short, description: `Does ${short}.`, inputSchema: { type: "object" } };
}

export const someTools: readonly ToolSketch[] = [
  sketch("echo"),
  sketch("files.read", "files"),
  sketch("files.write", "files"),
  sketch("my-server.get-thing", "my-server"),
];

/** Answers a call as its tool would. */
export type Answer = (call: AskedCall) => Omit<SettledCall, "place">;

export const echo: Answer = (call) => ({
  status: "ok",
  value: { text: JSON.stringify(call.arguments), structured: call.arguments, status: "ok" },
});

export interface Ran {
  readonly end: Exclude<ScriptStep, { step: "calls" }>;
  readonly batches: readonly (readonly AskedCall[])[];
  readonly calls: readonly AskedCall[];
  readonly out: string;
}

export interface Order {
  readonly driver: SandboxDriver;
  readonly language?: "javascript" | "typescript";
  readonly limits?: Partial<SandboxLimits>;
  readonly answer?: Answer;
}

/** Runs a script to its end. One process serves many scripts of one caller, as in production. */
export async function runScript(source: string, order: Order): Promise<Ran> {
  const { driver, language = "javascript", limits } = order;
  await using session = await driver.start(
    { language, source, tools: someTools, chainId: "chain-1", owner: "one" },
    { ...roomyLimits, ...limits },
  );
  return await driveScript(session, order.answer);
}

export async function driveScript(session: SandboxSession, answer: Answer = echo): Promise<Ran> {
  const batches: (readonly AskedCall[])[] = [];
  let out = "";
  for (;;) {
    const step = await session.next();
    for (const { text } of step.printed ?? []) out += text;
    if (step.step !== "calls") return { end: step, batches, calls: batches.flat(), out };
    batches.push(step.calls);
    await session.settle(step.calls.map((call) => ({ place: call.place, ...answer(call) })));
  }
}

/** Returns the script's return value. */
export function returned({ end }: Ran): unknown {
  if (end.step === "failed") throw new Error(`${end.why}: ${end.message}`);
  return end.value;
}

export function warmDriver(): Promise<WarmDriver> {
  return quickJsDriver({ warm: 2, startsAtOnce: 2, most: 8 });
}
