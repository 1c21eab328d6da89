import type { SandboxSession } from "@postern/core/sandbox";
import { afterEach, expect, it } from "vitest";
import { pythonLimits, pythonProgram } from "../../../../test/fakes/python-scripts.ts";
import { settled } from "../../../core/src/testing/clock.ts";
import { CpythonDriver } from "../cpython/cpython.ts";
import { type PooledEnd, SandboxPool } from "./pool.ts";

interface End extends PooledEnd {
  kill(): void;
}

const pools: SandboxPool<End>[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool[Symbol.asyncDispose]();
});

function open(most: number, start: () => Promise<End> = async () => ended()): SandboxPool<End> {
  const pool = new SandboxPool<End>(
    { start, rest: async () => true },
    { warm: 0, most, startsAtOnce: 2, scriptsEach: 9 },
  );
  pools.push(pool);
  return pool;
}

function ended(): End {
  const { promise: gone, resolve: kill } = Promise.withResolvers<void>();
  return { gone, kill, idle: () => {} };
}

/** Whose turn came, in its order. */
class Turns {
  readonly pool: SandboxPool<End>;
  readonly names: string[] = [];
  readonly ends = new Map<string, End>();

  constructor(pool: SandboxPool<End>) {
    this.pool = pool;
  }

  ask(owner: string, ...scripts: readonly string[]): void {
    for (const name of scripts)
      void this.pool.take(owner).then(
        (end) => {
          this.names.push(name);
          this.ends.set(name, end);
        },
        () => {}, // it waits until the pool is closed
      );
  }

  async come(to: number): Promise<readonly string[]> {
    await expect.poll(() => this.names.length).toBe(to);
    return this.names.slice();
  }
}

it("leaves sandboxes for another owner", async () => {
  const turns = new Turns(open(8));
  turns.ask("many", ...Array.from({ length: 20 }, (_, n) => `m${n}`));
  await turns.come(7);
  turns.ask("one", "o");
  expect((await turns.come(8)).at(-1)).toBe("o");
  expect(turns.pool.alive).toBe(8);
});

it("starts no sandbox that no owner may take", async () => {
  let starts = 0;
  const pool = open(8, async () => {
    starts += 1;
    return ended();
  });
  const turns = new Turns(pool);
  turns.ask("many", ...Array.from({ length: 20 }, (_, n) => `m${n}`));
  await turns.come(7);
  await settled();
  expect([starts, pool.alive]).toEqual([7, 7]);
});

it("rejects waiting requests when it closes", async () => {
  const pool = open(1);
  await pool.take("first");
  const told = Promise.allSettled([pool.take("first"), pool.take("other"), pool.take()]);
  await pool[Symbol.asyncDispose]();
  const refused = { status: "rejected", reason: new Error("The sandboxes are closed.") };
  expect(await told).toEqual([refused, refused, refused]);
});

it("gives a waiting owner at most half of the pool", async () => {
  const turns = new Turns(open(8));
  turns.ask("many", ..."abcdefgh");
  await turns.come(7);
  turns.ask("other", ..."1234");
  await turns.come(8);
  for (const name of "abc") turns.ends.get(name)?.kill();
  expect((await turns.come(11)).slice(7)).toEqual([..."1234"]);
});

it("serves owners in turns, however many scripts one has", async () => {
  const turns = new Turns(open(2));
  turns.ask("first", ..."xy");
  await turns.come(2);
  turns.ask("first", ..."abc");
  turns.ask("other", ..."123");
  turns.ask("third", "!");
  for (const name of ["x", "y", "1", "a", "!", "2", "b"]) {
    turns.ends.get(name)?.kill();
    await turns.come(turns.names.length + 1);
  }
  expect(turns.names.slice(2).join("")).toBe("1a!2b3c");
});

it("reuses a sandbox only if no other owner is next", async () => {
  const turns = new Turns(open(1));
  turns.ask("first", "x");
  await turns.come(1);
  turns.ask("first", "a");
  turns.ask("other", "1");
  const before = turns.ends.get("x");
  if (before !== undefined) await turns.pool.release(before, "first");
  await turns.come(2);
  expect([turns.names[1], turns.ends.get("a") === before]).toEqual(["a", true]);
  if (before !== undefined) await turns.pool.release(before, "first");
  expect(await turns.come(3)).toEqual(["x", "a", "1"]);
});

it("does not let a cancelled request block others", async () => {
  const starts: (() => void)[] = [];
  const turns = new Turns(open(4, () => new Promise((resolve) => starts.push(() => resolve(ended())))));
  const started = async (): Promise<void> => {
    await expect.poll(() => starts.length).toBeGreaterThan(0);
    starts.shift()?.();
  };
  turns.ask("many", ..."ab");
  await Promise.all([started(), started()]);
  await turns.come(2);
  const controller = new AbortController();
  const left = turns.pool.take("other", controller.signal);
  turns.ask("many", "c");
  controller.abort();
  await expect(left).rejects.toThrow("was cancelled");
  await started();
  expect((await turns.come(3)).at(-1)).toBe("c");
});

it("rejects the next request when a start fails", async () => {
  let starts = 0;
  const pool = open(1, async () => {
    if (starts++ === 0) throw new Error("no room");
    return ended();
  });
  const first = pool.take("one");
  const second = pool.take("other");
  await expect(first).rejects.toThrow("no room");
  expect(await second).toBeDefined();
});

const cpython = new CpythonDriver({ warm: 0, most: 4 });
const missing = await cpython.unavailable();

it.skipIf(missing !== undefined)(
  "a tenant's scripts in CPython leave room for another tenant's",
  { timeout: 60_000 },
  async () => {
    await using engine = cpython;
    const controller = new AbortController();
    const start = (owner: string): Promise<SandboxSession> =>
      engine.start({ ...pythonProgram("1", []), owner }, { ...pythonLimits, signal: controller.signal });
    const sessions = await Promise.all([start("many"), start("many"), start("many")]);
    const waits = start("many");
    sessions.push(await start("other"));
    controller.abort();
    await expect(waits).rejects.toThrow("was cancelled");
    for (const session of sessions) await session[Symbol.asyncDispose]();
  },
);
