import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { JumpingClock } from "./jumping-clock.ts";

export interface RaceFixture extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly clock: JumpingClock;
  /** How often each bill was paid. */
  readonly ran: ReadonlyMap<string, number>;
  /** The decisions on each approval, in order. */
  readonly decisions: ReadonlyMap<string, readonly string[]>;
}

/** A runtime with a tool that pays a bill after an approval. */
export async function raceFixture(approvals: NonNullable<RuntimeOptions["approvals"]>): Promise<RaceFixture> {
  const clock = new JumpingClock();
  const ran = new Map<string, number>();
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    risk: "high",
    effects: "write",
    idempotent: false,
    input: { type: "object", properties: { bill: { type: "string" } }, required: ["bill"] },
    execute: (given) => {
      const { bill } = given as { readonly bill: string }; // the schema says so
      ran.set(bill, (ran.get(bill) ?? 0) + 1);
      return "paid";
    },
  });
  const runtime = await createRuntime({ clock, tools: [pay], approvals, limits: { maxToolCalls: 10_000_000 } });
  const words = new Map<string, readonly string[]>();
  runtime.watch((event) => {
    if (event.moment === "decided") words.set(event.approvalId, [...(words.get(event.approvalId) ?? []), event.as]);
  });
  return { runtime, clock, ran, decisions: words, [Symbol.asyncDispose]: () => runtime.close() };
}

/** Runs all acts at once in random order, and waits until all are done and written. */
export async function allAtOnce(acts: (() => unknown)[], random: (below: number) => number): Promise<void> {
  for (let i = acts.length - 1; i > 0; i -= 1) {
    const j = random(i + 1);
    [acts[i], acts[j]] = [acts[j] ?? (() => {}), acts[i] ?? (() => {})];
  }
  const doing: unknown[] = [];
  for (const act of acts) {
    doing.push(act());
    if (random(4) === 0) await Promise.resolve();
  }
  await Promise.all(doing);
  await new Promise<void>((resolve) => setImmediate(resolve));
}
