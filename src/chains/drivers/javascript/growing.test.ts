/** What a script that fills its memory takes of the machine: V8 counts that memory as its own, and would collect for it. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { roomyLimits, someTools } from "../../../../test/fakes/scripts.ts";
import { warmScripts } from "../../../../test/fakes/warm-scripts.ts";
import type { ChildSession } from "../child/session.ts";

const scripts = warmScripts();
const memoryBytes = 128 * 1024 * 1024; // as by default
const filling = "const kept = []; for (let i = 0; i < 1200; i++) kept.push('x'.repeat(1e5) + i); await tools.echo({})";
const forgetting = "let kept; for (let i = 0; i < 1200; i++) kept = 'x'.repeat(1e5) + i; await tools.echo({})";

/** Processor time of the script's thread and of all others, in hundredths of a second. */
interface Ticks {
  readonly script: number;
  readonly beside: number;
}

function ticksOf(pid: number): Ticks {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => ({ thread, ticks: ticksOfThread(pid, thread) }));
  const script = threads.find(({ thread }) => Number(thread) === pid)?.ticks ?? 0;
  return { script, beside: threads.reduce((sum, { ticks }) => sum + ticks, 0) - script };
}

function ticksOfThread(pid: number, thread: string): number {
  const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Up to its first call. */
async function computed(source: string): Promise<Ticks> {
  const program = { language: "javascript", source, tools: someTools, chainId: "growing" } as const;
  await using session = (await scripts.driver.start(program, { ...roomyLimits, memoryBytes })) as ChildSession;
  const pid = session.pid ?? 0;
  const before = ticksOf(pid);
  expect(await session.next()).toMatchObject({ step: "calls" });
  const after = ticksOf(pid);
  return { script: after.script - before.script, beside: after.beside - before.beside };
}

it.skipIf(process.platform !== "linux")("a script that fills its memory computes on one processor", async () => {
  const { script, beside } = await computed(filling);
  expect(beside).toBeLessThan(script / 4);
});

it.skipIf(process.platform !== "linux")("memory that is kept costs little more than memory that is not", async () => {
  const [kept, forgotten] = [await computed(filling), await computed(forgetting)];
  expect(kept.script).toBeLessThan(2.6 * forgotten.script);
});
