import { expect, it } from "vitest";
import {
  type LimitedGateway,
  type LimitsScene,
  limitsScene,
} from "../../../../../../test/fakes/shared-limits-scene.ts";
import { settled } from "../../../../../core/src/testing/clock.ts";

interface Two extends LimitsScene {
  readonly a: LimitedGateway;
  readonly b: LimitedGateway;
}

async function two(limits: Parameters<typeof limitsScene>[0]): Promise<Two> {
  const scene = limitsScene(limits);
  const both = { a: scene.gateway("a"), b: scene.gateway("b") };
  await settled();
  return Object.assign(scene, both);
}

/** Numbers from 0 to 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** The most starts within any minute. */
function mostAMinute(starts: readonly number[]): number {
  return Math.max(...starts.map((from) => starts.filter((at) => at >= from && at < from + 60_000).length));
}

it.each([1, 3, 20])("never runs more than %d calls at once over three gateways, and runs all", async (concurrent) => {
  const scene = limitsScene({ concurrent });
  const gateways = ["a", "b", "c"].map((id) => scene.gateway(id));
  const random = numbers(concurrent);
  const calls: Promise<void>[] = [];
  for (let n = 0; n < 300; n += 1) {
    calls.push(
      ...gateways.slice(n % 3, (n % 3) + 1).map((one) => one.call(`agent ${n % 7}`, random() * 40 * concurrent)),
    );
    await scene.clock.advance(random() * 40);
  }
  await scene.clock.advance(20_000);
  await Promise.all(calls);
  expect(scene.most).toBe(concurrent);
  expect(scene.starts).toHaveLength(300);
  expect(scene.problems).toEqual([]);
});

it("passes the only slot on as soon as it is free, while a call of another gateway waits", async () => {
  const { clock, a, b } = await two({ concurrent: 1 });
  const long = a.call();
  await settled();
  const waits = b.call();
  await clock.advance(9_000);
  expect([a.running, b.running]).toEqual([1, 0]);
  await a.end();
  expect([a.running, b.running]).toEqual([0, 1]);
  await b.end();
  await Promise.all([long, waits]);
});

it("lets a call of another gateway wait no longer than one of its own", async () => {
  const { clock, a, b, problems } = await two({ concurrent: 1 });
  void a.call();
  await settled();
  const late = expect(b.call()).rejects.toMatchObject({ notExecuted: true, message: /within 10 s/ });
  await clock.advance(10_000);
  await late;
  expect(problems).toEqual([]);
});

it("asks the store for the first calls, and not for the next ones", async () => {
  const { clock, a } = await two({ concurrent: 4, perMinute: 1_000 });
  await Promise.all([...Array.from({ length: 4 }, () => a.call("agent", 1)), clock.advance(10)]);
  const before = a.requests;
  for (let n = 0; n < 40; n += 1) await Promise.all([a.call("agent", 10), clock.advance(10)]);
  expect(a.requests).toBe(before);
});

it("gives each of two busy gateways its half", async () => {
  const { clock, a, b, starts } = await two({ concurrent: 1 });
  const ran = { a: 0, b: 0 };
  const busy = async (name: "a" | "b", one: LimitedGateway): Promise<void> => {
    while (clock.monotonic() < 20_000) {
      await one.call("agent", 50);
      ran[name] += 1;
    }
  };
  const all = [1, 2, 3].flatMap(() => [busy("a", a), busy("b", b)]);
  await clock.advance(21_000);
  await Promise.all(all);
  expect(ran.a / ran.b).toBeCloseTo(1, 0.5);
  expect(starts.length).toBeGreaterThan(380); // of 400 without a pause
});

it("gives slots to those that wait in a gateway that had none, while the other one is busy", async () => {
  const { clock, a, b } = await two({ concurrent: 4 });
  for (let n = 0; n < 40; n += 1) void a.call("agent", 1_000).catch(() => undefined);
  await clock.advance(500);
  expect(a.running).toBe(4);
  for (let n = 0; n < 8; n += 1) void b.call("agent", 1_000).catch(() => undefined);
  await clock.advance(1_000);
  expect([a.running, b.running]).toEqual([2, 2]);
});

it("frees the slots of a killed gateway after its lease, before calls give up waiting", async () => {
  const scene = await two({ concurrent: 2 });
  const { clock, a, b } = scene;
  void a.call();
  void a.call();
  await clock.advance(1_000);
  a.kill();
  const calls = [b.call("agent", 10), b.call("agent", 10)];
  await clock.advance(4_000);
  expect(b.running).toBe(0);
  await clock.advance(5_000);
  await Promise.all(calls);
  expect(scene.most).toBe(2);
});

it("begins no call in a gateway that is cut off once its lease is over, and only then in the other one", async () => {
  const { clock, a, b, starts } = await two({ concurrent: 1 });
  await Promise.all([a.call("agent", 10), clock.advance(10)]);
  await a.cut(true);
  const waits = b.call("agent", 10);
  await Promise.all([a.call("agent", 10), clock.advance(1_000)]); // it still holds the slot
  expect(starts).toHaveLength(2);
  await clock.advance(6_500);
  await waits;
  const refused = expect(a.call()).rejects.toMatchObject({ notExecuted: true });
  await clock.advance(10_000);
  await refused;
  expect(starts).toHaveLength(3);
  await a.cut(false);
  await clock.advance(2_500);
  const again = a.call("agent", 10);
  await clock.advance(1_000);
  await again;
});

it("counts calls that ran on while their gateway was cut off, when it is back", async () => {
  const { clock, a, b } = await two({ concurrent: 1 });
  void a.call();
  await settled();
  await a.cut(true);
  const other = b.call("agent", 20_000);
  await clock.advance(8_000);
  expect([a.running, b.running]).toEqual([1, 1]);
  await a.cut(false);
  await clock.advance(20_000);
  await other;
  const waits = b.call();
  await clock.advance(3_000);
  expect([a.running, b.running]).toEqual([1, 0]);
  await a.end();
  expect([a.running, b.running]).toEqual([0, 1]);
  await b.end();
  await waits;
});

it("uses no slot that it had before it was cut off, also before it hears that another gateway has it", async () => {
  const { clock, a, b } = await two({ concurrent: 1 });
  await Promise.all([a.call("agent", 10), clock.advance(10)]);
  await a.cut(true);
  const other = b.call();
  await clock.advance(9_000);
  await a.cut(false);
  await clock.advance(2_100); // its lease has begun
  const waits = a.call("agent", 10);
  await clock.advance(500);
  expect([a.running, b.running]).toEqual([0, 1]);
  await b.end();
  await clock.advance(100);
  await Promise.all([other, waits]);
});

it("gives all slots that it does not need to one that needs them", async () => {
  const { clock, a, b } = await two({ concurrent: 4 });
  await Promise.all([...Array.from({ length: 4 }, () => a.call("agent", 10)), clock.advance(1_000)]);
  for (let n = 0; n < 4; n += 1) void b.call();
  await settled();
  expect(b.running).toBe(4);
});

it("starts no call in a slot that is on its way to another gateway", async () => {
  for (let ticks = 0; ticks < 60; ticks += 1) {
    const scene = await two({ concurrent: 1 });
    const { clock, a, b } = scene;
    await Promise.all([a.call("agent", 10), clock.advance(10)]);
    const other = b.call("agent", 10);
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
    const own = a.call("agent", 10);
    await clock.advance(1_000);
    await Promise.all([other, own]);
    expect(scene.most).toBe(1);
  }
});

it("gives its slots back when it had no call for half a minute", async () => {
  const { clock, a, b, problems } = await two({ concurrent: 2 });
  await Promise.all([a.call("agent", 10), a.call("agent", 10), clock.advance(10)]);
  await clock.advance(31_000);
  a.kill();
  await Promise.all([b.call("agent", 10), b.call("agent", 10), clock.advance(20)]);
  expect(problems).toEqual([]);
});

it("gives its slots back when it closes", async () => {
  const { clock, a, b, problems } = await two({ concurrent: 2 });
  await Promise.all([a.call("agent", 10), a.call("agent", 10), clock.advance(10)]);
  await a.close();
  a.kill();
  await Promise.all([b.call("agent", 10), b.call("agent", 10), clock.advance(20)]);
  expect(problems).toEqual([]);
});

it("asks the store for nothing but its lease while calls wait in the only gateway", async () => {
  const { clock, a } = await two({ concurrent: 1 });
  for (let n = 0; n < 300; n += 1) void a.call("agent", 100).catch(() => undefined);
  await clock.advance(100);
  const before = a.requests;
  await clock.advance(9_000);
  expect(a.requests - before).toBeLessThanOrEqual(5); // one in two seconds
});

it("looks once a second whether a busy gateway is gone, and writes nothing", async () => {
  const { clock, a, b } = await two({ concurrent: 1 });
  void a.call();
  await settled();
  void b.call().catch(() => undefined);
  await settled();
  const before = b.requests;
  await clock.advance(9_000);
  expect(b.requests - before).toBeLessThanOrEqual(2 * 9 + 5); // reads the document, tries the lease; its own lease
});

it.each([1, 7, 120])("begins at most %d calls within any minute over three gateways", async (perMinute) => {
  const scene = limitsScene({ perMinute });
  const gateways = ["a", "b", "c"].map((id) => scene.gateway(id));
  const random = numbers(perMinute);
  const endsAt = 5 * 60_000;
  const refused: unknown[] = [];
  while (scene.clock.monotonic() < endsAt) {
    const isBurst = random() < 0.05;
    for (let n = 0; n < (isBurst ? perMinute : 1); n += 1)
      gateways[Math.floor(random() * 3)]?.call("agent", 5).catch((error) => refused.push(error));
    await scene.clock.advance(random() * (30_000 / perMinute));
  }
  expect(mostAMinute(scene.starts)).toBeLessThanOrEqual(perMinute);
  expect(scene.starts.length).toBeGreaterThan(0.9 * 5 * perMinute - 1);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.every((error) => Object(error).rateLimitResetsAt > scene.clock.now() - endsAt)).toBe(true);
});

it("says when the next call of any gateway may begin, and keeps it", async () => {
  const { clock, a, b, starts } = await two({ perMinute: 2 });
  await Promise.all([a.call("agent", 1), b.call("agent", 1), clock.advance(10)]);
  const error: { rateLimitResetsAt: number } = await a.call().catch((refused) => refused);
  await clock.advance(error.rateLimitResetsAt - clock.now());
  await Promise.all([b.call("agent", 1), clock.advance(10)]);
  expect(starts).toHaveLength(3);
});

it("gives back the calls of a minute that it took and did not need", async () => {
  const { clock, a, b } = await two({ perMinute: 100 });
  await Promise.all([a.call("agent", 1), clock.advance(7_000)]);
  const calls = Array.from({ length: 99 }, () => b.call("agent", 1));
  await clock.advance(10);
  await Promise.all(calls);
});

it("does not use the calls of a minute that it took, when it is cut off for longer", async () => {
  const { clock, a } = await two({ perMinute: 100 });
  await Promise.all([a.call("agent", 1), clock.advance(1_000)]);
  await a.cut(true);
  await Promise.all([a.call("agent", 1), clock.advance(1_000)]);
  await clock.advance(4_000);
  await expect(a.call("agent", 1)).rejects.toMatchObject({ notExecuted: true, message: /could not count it/ });
});

it("does not wait longer for the store to count a call than for its turn", async () => {
  const { clock, a } = await two({ perMinute: 100 });
  a.kill(); // the store gives it no answer
  const late = expect(a.call()).rejects.toMatchObject({ notExecuted: true, message: /no answer within 10 s/ });
  await clock.advance(10_000);
  await late;
});
