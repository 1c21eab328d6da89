/**
 * Promises of time, on a machine that has other work. What stalls does so at every try; what does not is in time at one of a
 * few. The promise itself is the same on every machine.
 */
import { expect } from "vitest";

const tries = 5;

interface Worked<Value> {
  readonly value: Value;
  /** Of this thread, or of the clock where that is less: what others compute is not counted. */
  readonly workMs: number;
}

async function measured<Value>(work: () => Value | Promise<Value>): Promise<Worked<Value>> {
  const [cpu, began] = [process.threadCpuUsage(), performance.now()];
  const value = await work();
  const { user, system } = process.threadCpuUsage(cpu);
  return { value, workMs: Math.min(performance.now() - began, (user + system) / 1_000) };
}

/** For what this thread computes itself. `work` is told which try it is: what is remembered of one is no figure of the next. */
export async function expectWork(withinMs: number, work: (at: number) => unknown, what?: string): Promise<void> {
  expect(await shortest(withinMs, async (at) => (await measured(() => work(at))).workMs), what).toBeLessThan(withinMs);
}

/** For what somebody waits for, while others do it. */
export async function expectSoon(withinMs: number, happens: () => Promise<unknown>): Promise<void> {
  const waitedMs = async (): Promise<number> => {
    const began = performance.now();
    await happens();
    return performance.now() - began;
  };
  expect(await shortest(withinMs, waitedMs)).toBeLessThan(withinMs);
}

async function shortest(withinMs: number, tried: (at: number) => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let at = 0; at < tries && best >= withinMs; at += 1) best = Math.min(best, await tried(at));
  return best;
}
