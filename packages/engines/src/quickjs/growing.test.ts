/** What a script that fills its memory takes of the machine: V8 counts that memory as its own, and would collect for it. */
import { readdirSync, readFileSync } from "node:fs";
import type { SandboxDriver } from "@postern/core/sandbox";
import { expect, it } from "vitest";
import { roomyLimits, someTools } from "../../../../test/fakes/scripts.ts";
import { createRuntime } from "../../../postern/src/index.ts";
import type { ChildSession } from "../child/session.ts";
import { quickJsDriver } from "./driver.ts";

const mebibyte = 1024 * 1024;
/** As by default, and as a configuration may have it. */
const bounds = [128 * mebibyte, 320 * mebibyte];
const textBytes = 100_000;

/** Nearly all that it may have. */
const filling = (memoryBytes: number): string =>
  `const kept = []; for (let i = 0; i < ${timesIn(memoryBytes)}; i++) kept.push('x'.repeat(${textBytes}) + i); await tools.echo({})`;
const forgetting = (memoryBytes: number): string =>
  `let kept; for (let i = 0; i < ${timesIn(memoryBytes)}; i++) kept = 'x'.repeat(${textBytes}) + i; await tools.echo({})`;
const timesIn = (memoryBytes: number): number => Math.floor((0.9 * memoryBytes) / textBytes);

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
async function computed(driver: SandboxDriver, source: string, memoryBytes: number): Promise<Ticks> {
  const program = { language: "javascript", source, tools: someTools, chainId: "growing" } as const;
  await using session = (await driver.start(program, { ...roomyLimits, memoryBytes })) as ChildSession;
  const pid = session.pid ?? 0;
  const before = ticksOf(pid);
  expect(await session.next()).toMatchObject({ step: "calls" });
  const after = ticksOf(pid);
  return { script: after.script - before.script, beside: after.beside - before.beside };
}

it.skipIf(process.platform !== "linux").each(bounds)(
  "a script that fills its memory collects no garbage for it: %i bytes",
  async (memoryBytes) => {
    await using driver = await quickJsDriver({ warm: 2, memoryBytes });
    const kept = await computed(driver, filling(memoryBytes), memoryBytes);
    const forgotten = await computed(driver, forgetting(memoryBytes), memoryBytes);
    expect(kept.beside).toBeLessThan(kept.script / 4); // it computes on one processor
    expect(kept.script).toBeLessThan(2.6 * forgotten.script);
  },
);

it.skipIf(process.platform !== "linux")("sizes the heap by the configured memory of scripts", async () => {
  const runtime = await createRuntime({ chains: { engines: ["quickjs"], memoryBytes: 1_000 * mebibyte } });
  try {
    expect(await runtime.runChain({ code: "1", language: "javascript" })).toMatchObject({ status: "ok" });
    expect(commands().filter((words) => words.includes("--max-old-space-size=4000"))).not.toEqual([]);
  } finally {
    await runtime.close();
  }
});

/** Of all processes there are. */
function commands(): readonly string[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? readFileSync(`/proc/${name}/cmdline`, "utf8") : [];
    } catch {
      return []; // it has just ended
    }
  });
}
