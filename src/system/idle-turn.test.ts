import { expect, it } from "vitest";
import { idleTurn } from "./idle-turn.ts";

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

/** Somebody else in each turn of the loop, until it is disposed of. */
function others(work: () => void): Disposable & { readonly turns: number } {
  let turns = 0;
  let isOver = false;
  const again = (): void => {
    turns += 1;
    work();
    if (!isOver) setImmediate(again);
  };
  setImmediate(again);
  return {
    get turns() {
      return turns;
    },
    [Symbol.dispose]: () => {
      isOver = true;
    },
  };
}

/** Milliseconds of a loop that is busy which pass while so many, each in pieces of a millisecond, do their work. */
async function beside(work: () => void, count: number): Promise<number> {
  using _ = others(work);
  await idleTurn(); // what there was before is paid
  const begun = performance.now();
  const pieces = async (): Promise<void> => {
    for (let i = 0; i < 10 / count; i++) {
      await idleTurn();
      busy(1);
    }
  };
  await Promise.all(Array.from({ length: count }, pieces));
  return performance.now() - begun;
}

it("has a fortieth of a loop that is busy", async () => {
  const ms = await beside(() => busy(0.2), 1);
  expect(ms).toBeGreaterThan(9 * 40); // the last one's share is over after its end
});

it("has no more of it where several want it", async () => {
  const ms = await beside(() => busy(0.2), 5);
  expect(ms).toBeGreaterThan(9 * 40);
});

it("counts what its work has put off to the turn behind it, as much again at most", async () => {
  using _ = others(() => busy(0.1));
  const putOff = async (): Promise<void> => {
    await idleTurn();
    busy(1);
    setImmediate(() => busy(1));
  };
  await putOff();
  const begun = performance.now();
  for (let i = 0; i < 4; i++) await putOff();
  expect(performance.now() - begun).toBeGreaterThan(4 * 2 * 40);
});

it("has its share where others take long turns: these are none of its own", async () => {
  using _ = others(() => busy(10));
  await idleTurn();
  const begun = performance.now();
  for (let i = 0; i < 5; i++) {
    await idleTurn();
    busy(0.1);
  }
  expect(performance.now() - begun).toBeLessThan(5 * 100);
});

it("pays nothing for the time in which nobody asked for it", async () => {
  using _ = others(() => busy(0.2));
  await idleTurn();
  busy(0.1);
  for (const until = performance.now() + 300; performance.now() < until; ) await new Promise(setImmediate);
  const begun = performance.now();
  await idleTurn();
  expect(performance.now() - begun).toBeLessThan(100);
});

it("comes within a few turns of a loop that is idle, however long the last one took", async () => {
  using idle = others(() => {});
  const waited: number[] = [];
  for (let i = 0; i < 5; i++) {
    await idleTurn();
    busy(20);
    const before = idle.turns;
    await idleTurn();
    waited.push(idle.turns - before);
  }
  expect(Math.min(...waited)).toBeLessThan(10); // where the machine is busy, an empty turn may be taken for one that is not
});

it("comes in the order in which it was asked for, and in the same turn to nobody else", async () => {
  using each = others(() => {});
  const came: (readonly [number, number])[] = [];
  await Promise.all(
    [0, 1, 2, 3, 4].map(async (n) => {
      await idleTurn();
      came.push([n, each.turns]);
    }),
  );
  expect(came.map(([n]) => n)).toEqual([0, 1, 2, 3, 4]);
  expect(new Set(came.map(([, turn]) => turn)).size).toBe(5);
});
