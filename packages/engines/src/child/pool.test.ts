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

it("keeps at most `most` alive, and later requests wait", async () => {
  const pool = open({ most: 2, warm: 1 });
  const first = await take(pool);
  await take(pool);
  const third = take(pool);
  expect(pool.alive).toBe(2);
  first.kill();
  await third;
  expect(pool.alive).toBeLessThanOrEqual(2);
});

it("gives no sandbox to a cancelled request", async () => {
  const pool = open({ most: 1 });
  const first = await take(pool);
  const controller = new AbortController();
  const left = pool.take(undefined, controller.signal);
  const next = take(pool);
  controller.abort();
  await expect(left).rejects.toThrow(/was cancelled/);
  await expect(pool.take(undefined, controller.signal)).rejects.toThrow(/was cancelled/);
  first.kill();
  await next;
  expect(pool.alive).toBe(1);
});

it("has one ready when the next script comes", async () => {
  const pool = open({ most: 4, warm: 1 });
  const first = await take(pool);
  await expect.poll(() => pool.alive).toBe(2);
  const [second] = await Promise.all([take(pool)]);
  expect(second.pid).not.toBe(first.pid);
});

it("tells each request why no sandbox starts", async () => {
  const pool = open({ warm: 2 }, lyingChild("", "process.exit(9)"));
  await expect(pool.take()).rejects.toThrow("code 9");
  await expect(pool.take()).rejects.toThrow("code 9");
});

it("gives no sandbox after it closed, and ends idle ones", async () => {
  const pool = open({ most: 4, warm: 1 });
  await take(pool);
  await pool[Symbol.asyncDispose]();
  await expect(pool.take()).rejects.toThrow("closed");
});

const resting = 'if (order.do === "rest") say({ rested: true }); else say({ step: "done" })';
const shared = { scriptsEach: 3, most: 1 } as const;

it("reuses a sandbox for its owner up to its limit", async () => {
  const pool = open({ ...shared }, lyingChild(resting));
  const pids: number[] = [];
  for (let i = 0; i < 4; i++) {
    const child = await pool.take("owner");
    pids.push(child.pid);
    await pool.release(child, "owner");
  }
  expect(pids[0]).toBe(pids[2]);
  expect(pids[3]).not.toBe(pids[0]);
});

it("serves another owner although the first goes on asking", async () => {
  const pool = open({ ...shared, scriptsEach: 1_000 }, lyingChild(resting));
  const first = await pool.take("busy");
  const waits = pool.take("other");
  const again = pool.take("busy");
  await pool.release(first, "busy");
  const other = await waits;
  expect(other.pid).not.toBe(first.pid);
  await pool.release(other, "other");
  expect((await again).pid).not.toBe(other.pid);
  (await again).kill();
});

it("ends a resting sandbox to make room for another owner", async () => {
  const pool = open({ ...shared }, lyingChild(resting));
  const first = await pool.take("owner");
  await pool.release(first, "owner");
  const other = await pool.take("other");
  taken.push(other);
  expect(other.pid).not.toBe(first.pid);
  await first.gone;
});

it.each([
  ["says that it did not", "say({ rested: false })"],
  ["says two things", "say({ rested: true }); say({ rested: true })"],
  ["goes away", "process.exit(0)"],
])("does not reuse a sandbox that shall forget its script and %s", async (_, onRest) => {
  const pool = open({ ...shared, most: 2 }, lyingChild(`if (order.do === "rest") { ${onRest} }`));
  const first = await pool.take("owner");
  await pool.release(first, "owner");
  expect((await take(pool)).pid).not.toBe(first.pid);
  await first.gone;
});

it("refuses a frame with the token of the last script", async () => {
  const old =
    'if (order.do === "rest") { say({ rested: true }); globalThis.old = token } else say({ step: "done", token: globalThis.old })';
  const pool = open({ ...shared }, lyingChild(old));
  await pool.release(await pool.take("owner"), "owner");
  const child = await pool.take("owner");
  taken.push(child);
  child.send({ do: "next" });
  expect(await child.receive()).toMatchObject({ kind: "broken", message: expect.stringContaining("another script") });
});

it("ends a sandbox that is released after it closed", async () => {
  const pool = open({ ...shared }, lyingChild(resting));
  const child = await pool.take("owner");
  await pool[Symbol.asyncDispose]();
  await pool.release(child, "owner");
  await child.gone;
  expect(pool.alive).toBe(0);
});
