import { afterEach, expect, it } from "vitest";
import { lyingChild } from "../../../../test/fakes/lying-child.ts";
import type { SandboxProcess } from "./child-process.ts";
import { ChildPool, type PoolOptions } from "./pool.ts";

const pools: ChildPool[] = [];
const taken: SandboxProcess[] = [];
afterEach(async () => {
  for (const child of taken.splice(0)) child.kill();
  for (const pool of pools.splice(0)) await pool[Symbol.asyncDispose]();
});

function open(options: Partial<PoolOptions> = {}, spec = lyingChild('say({ step: "done" })')): ChildPool {
  const pool = new ChildPool(spec, { warm: 0, most: 2, startsAtOnce: 2, ...options });
  pools.push(pool);
  return pool;
}

async function take(pool: ChildPool): Promise<SandboxProcess> {
  const child = await pool.take();
  taken.push(child);
  return child;
}

it("gives every script a process of its own", async () => {
  const pool = open();
  const [one, two] = await Promise.all([take(pool), take(pool)]);
  expect(one.pid).not.toBe(two.pid);
  one.kill();
  await one.gone;
  expect([one.pid, two.pid]).not.toContain((await take(pool)).pid);
});

it("has never more alive than may be; who comes later waits for one to end", async () => {
  const pool = open({ most: 2, warm: 1 });
  const first = await take(pool);
  await take(pool);
  const third = take(pool);
  expect(pool.alive).toBe(2);
  first.kill();
  await third;
  expect(pool.alive).toBeLessThanOrEqual(2);
});

it("has one ready when the next script comes", async () => {
  const pool = open({ most: 4, warm: 1 });
  const first = await take(pool);
  expect(pool.alive).toBe(2);
  const [second] = await Promise.all([take(pool)]);
  expect(second.pid).not.toBe(first.pid);
});

it("says why none can be started, to each who asks", async () => {
  const pool = open({ warm: 2 }, lyingChild("", "process.exit(9)"));
  await expect(pool.take()).rejects.toThrow("code 9");
  await expect(pool.take()).rejects.toThrow("code 9");
});

it("once closed it gives none, and its idle ones are gone", async () => {
  const pool = open({ most: 4, warm: 1 });
  await take(pool);
  await pool[Symbol.asyncDispose]();
  await expect(pool.take()).rejects.toThrow("closed");
});
