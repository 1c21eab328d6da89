import { expect, it } from "vitest";
import { FakeClock } from "../../../../test/fakes/clock.ts";
import { whenCalm } from "./calm.ts";

/** After how many milliseconds it came, where the loop is as busy at each look as is said, and wholly from then on. */
async function cameAfter(...shares: readonly number[]): Promise<number | undefined> {
  const clock = new FakeClock();
  const left = [...shares];
  let came: number | undefined;
  const come = (): void => {
    came = clock.monotonic();
  };
  whenCalm(clock, come, () => left.shift() ?? 1);
  await clock.advance(10_000);
  return came;
}

it("comes with the first look at a loop that has time to spare", async () => {
  expect(await cameAfter(0.2)).toBe(50);
});

it("waits as long as the loop is busy, and comes in the end though it always is", async () => {
  expect(await cameAfter(1, 0.9, 0.6, 0.4)).toBe(200);
  expect(await cameAfter()).toBe(2_000);
});

it("does not come once it was taken back, and leaves nothing behind", async () => {
  const clock = new FakeClock();
  let came = 0;
  const forget = whenCalm(
    clock,
    () => {
      came++;
    },
    () => 1,
  );
  await clock.advance(500);
  forget();
  expect(clock.waiting).toBe(0);
  await clock.advance(10_000);
  expect(came).toBe(0);
});

it("a loop that never rests is busy, and one that waits is not", async () => {
  const clock = new FakeClock();
  let came = 0;
  whenCalm(clock, () => {
    came++;
  });
  for (const until = performance.now() + 20; performance.now() < until; );
  await clock.advance(50);
  expect(came).toBe(0);
  await expect
    .poll(async () => {
      await clock.advance(50);
      return came;
    })
    .toBe(1);
});
