/**
 * Checks time limits on a machine that has other work. Slow code is slow at every try; other code is in time at one of
 * them, at the latest when it is compiled: a large answer takes three times as long at first.
 */
import { expect } from "vitest";
import { slowness, threadMs } from "./machine-speed.ts";

const tries = 15;

/**
 * Checks work that this thread does: its processor time, or wall time if that is less.
 *
 * @param withinMs the limit on a machine at its full speed
 * @param work gets the number of the try, so that no cache helps the next one
 */
export async function expectWork(withinMs: number, work: (at: number) => unknown, what?: string): Promise<void> {
  const worked = async (at: number): Promise<number> => {
    const [cpu, began] = [process.threadCpuUsage(), performance.now()];
    await work(at);
    const workMs = Math.min(performance.now() - began, threadMs(cpu));
    return workMs < withinMs ? workMs : workMs / slowness();
  };
  expect(await shortest(withinMs, worked), what).toBeLessThan(withinMs);
}

/** Checks a wait for work that others do. */
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
