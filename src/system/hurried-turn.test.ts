import { pbkdf2 } from "node:crypto";
import { expect, it } from "vitest";
import { hurriedTurn } from "./hurried-turn.ts";

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

/** Somebody else in each turn of the loop, until it is disposed of. */
function others(work: () => void): Disposable {
  let isOver = false;
  const again = (): void => {
    work();
    if (!isOver) setImmediate(again);
  };
  setImmediate(again);
  return {
    [Symbol.dispose]: () => {
      isOver = true;
    },
  };
}

/** The loop sleeps while another thread computes, a tenth of a millisecond or more. */
function asleep(): Promise<void> {
  return new Promise((resolve) => {
    pbkdf2("a", "b", 1_000, 32, "sha256", () => resolve());
  });
}

it("comes at once where the loop has slept since the last one, however short that was", async () => {
  let soon = 0;
  for (let i = 0; i < 500 && soon < 10; i++) {
    await hurriedTurn();
    const begun = { at: performance.now(), slept: performance.nodeTiming.idleTime };
    await asleep();
    const turn = hurriedTurn();
    if (performance.now() - begun.at > 0.9) continue; // a millisecond would have been reason enough
    if (performance.nodeTiming.idleTime - begun.slept < 0.05) continue; // it was woken before it slept
    expect(turn).toBeUndefined();
    soon += 1;
  }
  expect(soon).toBe(10);
});

it("is one in a millisecond of a loop that is busy, whoever asks", async () => {
  using _ = others(() => busy(0.1));
  await hurriedTurn();
  const begun = performance.now();
  await Promise.all(Array.from({ length: 20 }, () => hurriedTurn()));
  const ms = performance.now() - begun;
  expect(ms).toBeGreaterThanOrEqual(20);
  expect(ms).toBeLessThan(20 * 1.5 + 20); // the machine may have others to do
});

it("asks no more of one that comes seldom", async () => {
  using _ = others(() => busy(0.1));
  for (let i = 0; i < 5; i++) {
    await hurriedTurn();
    for (const until = performance.now() + 2; performance.now() < until; ) await new Promise(setImmediate);
    expect(hurriedTurn()).toBeUndefined();
  }
});

it("comes before its millisecond is over where nobody does anything in the turns between", async () => {
  using _ = others(() => {});
  await hurriedTurn();
  const begun = performance.now();
  for (let i = 0; i < 50; i++) await hurriedTurn();
  expect(performance.now() - begun).toBeLessThan(45);
});

it("comes in the order in which it was asked for", async () => {
  using _ = others(() => busy(0.1));
  const came: number[] = [];
  await Promise.all(
    [0, 1, 2, 3, 4].map(async (n) => {
      await hurriedTurn();
      came.push(n);
    }),
  );
  expect(came).toEqual([0, 1, 2, 3, 4]);
  await hurriedTurn();
  const first = hurriedTurn();
  busy(2);
  expect([first, hurriedTurn()]).toEqual([expect.any(Promise), expect.any(Promise)]); // whoever waits is before who comes
});
