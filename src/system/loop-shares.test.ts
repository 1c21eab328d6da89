import { pbkdf2 } from "node:crypto";
import { describe, expect, it } from "vitest";
import { FakeLoop } from "../../test/fakes/fake-loop.ts";
import { IdleSteps, loopShares } from "./loop-shares.ts";

/** Idle work, again and again, each time when it has its turn. */
async function pieces(loop: FakeLoop, count: number, work: () => void): Promise<void> {
  for (let i = 0; i < count; i++) {
    await loop.shares.idleTurn();
    work();
  }
}

describe("a hurried turn", () => {
  it("comes at once where the loop has slept since the last one, however short that was", () => {
    const loop = new FakeLoop();
    expect(loop.shares.hurriedTurn()).toBeUndefined();
    loop.sleeps(0.02);
    expect(loop.shares.hurriedTurn()).toBeUndefined();
    loop.sleeps(0.01);
    loop.busy(0.2);
    expect(loop.shares.hurriedTurn()).toBeInstanceOf(Promise);
  });

  it("is one in a millisecond of a loop that is busy, whoever asks", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.1));
    await loop.until(loop.shares.hurriedTurn());
    const ms = await loop.until(Promise.all(Array.from({ length: 20 }, () => loop.shares.hurriedTurn())));
    expect(ms).toBeGreaterThanOrEqual(20);
    expect(ms).toBeLessThan(20 * 1.15); // a turn of others after each
  });

  it("asks no more of one that comes seldom", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.1));
    for (let i = 0; i < 5; i++) {
      expect(loop.shares.hurriedTurn()).toBeUndefined();
      await loop.goOn(10);
    }
  });

  it("comes before its millisecond is over where nobody does anything in the turns between", async () => {
    const loop = new FakeLoop();
    await loop.until(loop.shares.hurriedTurn());
    expect(await loop.until(loop.shares.hurriedTurn())).toBeLessThan(0.01);
  });

  it("comes in the order in which it was asked for, also to who comes when it is due", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.1));
    await loop.until(loop.shares.hurriedTurn());
    const came: number[] = [];
    const note = async (n: number): Promise<void> => {
      await loop.shares.hurriedTurn();
      came.push(n);
    };
    const waiting = [note(0), note(1)];
    loop.busy(2);
    waiting.push(note(2));
    await loop.until(Promise.all(waiting));
    expect(came).toEqual([0, 1, 2]);
  });
});

describe("an idle turn", () => {
  it.each([1, 5])("has a fortieth of a loop that is busy, where %d want it", async (wanted) => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.1));
    await loop.until(loop.shares.idleTurn());
    const each = (): Promise<void> => pieces(loop, 10 / wanted, () => loop.busy(1));
    const ms = await loop.until(Promise.all(Array.from({ length: wanted }, each)));
    expect(ms).toBeGreaterThan(9 * 40); // the last one's share is over after its end
    expect(ms).toBeLessThan(10 * 42);
  });

  it("counts what its work has put off to the turn behind it, as much again at most", async () => {
    const loop = new FakeLoop();
    let putOff = 0;
    loop.others(() => {
      loop.busy(0.1 + putOff);
      putOff = 0;
    });
    const ms = (most: number): Promise<number> =>
      loop.until(
        pieces(loop, 5, () => {
          loop.busy(1);
          putOff = most;
        }),
      );
    expect(await ms(1)).toBeGreaterThan(4 * 2 * 40);
    await loop.until(loop.shares.idleTurn());
    expect(await ms(5)).toBeLessThan(5 * 2 * 42);
  });

  it("has its share where others take long turns: these are none of its own", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(10));
    await loop.until(loop.shares.idleTurn());
    expect(await loop.until(pieces(loop, 5, () => loop.busy(0.1)))).toBeLessThan(5 * 40);
  });

  it("pays nothing for the time in which nobody asked for it, and is told that others are at work", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.2));
    await loop.until(pieces(loop, 1, () => loop.busy(5)));
    await loop.goOn(2_000);
    const turn = loop.shares.idleTurn();
    expect(await loop.until(turn)).toBeLessThan(1);
    expect(await turn).toBe(false);
  });

  it("comes within a few turns of a loop that is idle, however long the last one took", async () => {
    const loop = new FakeLoop();
    await loop.until(pieces(loop, 1, () => loop.busy(20)));
    const before = loop.turns;
    const turn = loop.shares.idleTurn();
    await loop.until(turn);
    expect(loop.turns - before).toBeLessThan(10);
    expect(await turn).toBe(true);
  });

  it("leaves a loop that stays busy alone until it is due, and looks at it four turns in between", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.1));
    await loop.until(pieces(loop, 1, () => loop.busy(1)));
    const [asked, turns] = [loop.asked, loop.turns];
    const ms = await loop.until(pieces(loop, 1, () => loop.busy(1)));
    expect(ms).toBeGreaterThan(43); // the tenth of the turn behind it counts as put off
    expect(ms).toBeLessThan(45);
    expect(loop.turns - turns).toBeGreaterThan(350);
    expect(loop.asked - asked).toBeLessThan(60);
  });

  it("comes soon after a loop has become idle that was left alone", async () => {
    const loop = new FakeLoop();
    let isBusy = true;
    loop.others(() => loop.busy(isBusy ? 0.1 : 0));
    await loop.until(pieces(loop, 1, () => loop.busy(100)));
    const turn = loop.shares.idleTurn();
    await loop.goOn(20);
    isBusy = false;
    expect(await loop.until(turn)).toBeLessThan(5.1);
    expect(await turn).toBe(true);
  });

  it("lets what is in a hurry have its millisecond while a loop is left alone", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.1));
    await loop.until(pieces(loop, 1, () => loop.busy(100)));
    const idle = loop.shares.idleTurn();
    await loop.goOn(20);
    await loop.until(loop.shares.hurriedTurn());
    const [asked, turns] = [loop.asked, loop.turns];
    const ms = await loop.until(Promise.all(Array.from({ length: 10 }, () => loop.shares.hurriedTurn())));
    expect(ms).toBeGreaterThanOrEqual(10);
    expect(ms).toBeLessThan(12);
    expect(loop.asked - asked).toBeLessThanOrEqual(loop.turns - turns + 1); // it is looked at once a turn
    await loop.until(idle);
  });

  it("comes in the order in which it was asked for, and in the same turn to nobody else", async () => {
    const loop = new FakeLoop();
    const came: (readonly [number, number])[] = [];
    const wait = async (n: number): Promise<void> => {
      await loop.shares.idleTurn();
      came.push([n, loop.turns]);
    };
    await loop.until(Promise.all([0, 1, 2, 3, 4].map(wait)));
    expect(came.map(([n]) => n)).toEqual([0, 1, 2, 3, 4]);
    expect(new Set(came.map(([, turn]) => turn)).size).toBe(5);
  });

  it("has its share beside what is in a hurry, which waits for none of it", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.1));
    let hurried = 0;
    let isOver = false;
    const hurry = async (): Promise<void> => {
      while (!isOver) {
        await (loop.shares.hurriedTurn() ?? loop.turn());
        hurried += 1;
      }
    };
    const hurrying = hurry();
    await loop.until(loop.shares.idleTurn());
    const [before, began] = [hurried, loop.ms];
    await loop.until(pieces(loop, 10, () => loop.busy(0.2)));
    expect(hurried - before).toBeGreaterThan(0.8 * (loop.ms - began));
    isOver = true;
    await loop.until(hurrying);
  });
});

describe("idle steps", () => {
  it("are one piece until a twentieth of a millisecond is over", async () => {
    const loop = new FakeLoop();
    loop.others(() => loop.busy(0.1));
    const steps = new IdleSteps(loop.shares);
    const pieces: number[] = [];
    for (let step = 0; step < 12; step++) {
      const others = steps.next();
      if (others === undefined) pieces.push((pieces.pop() ?? 0) + 1);
      else {
        await loop.until(others);
        pieces.push(1);
      }
      loop.busy(0.02);
    }
    expect(pieces).toEqual([3, 3, 3, 3]);
  });
});

/** This process's loop sleeps while another thread computes, a tenth of a millisecond or more. */
function asleep(): Promise<void> {
  return new Promise((resolve) => {
    pbkdf2("a", "b", 1_000, 32, "sha256", () => resolve());
  });
}

describe("the loop of this process", () => {
  it("tells that it has slept", async () => {
    let soon = 0;
    for (let i = 0; i < 500 && soon < 10; i++) {
      await loopShares.hurriedTurn();
      const begun = { at: performance.now(), slept: performance.nodeTiming.idleTime };
      await asleep();
      const turn = loopShares.hurriedTurn();
      if (performance.now() - begun.at > 0.9) continue; // a millisecond would have been reason enough
      if (performance.nodeTiming.idleTime - begun.slept < 0.05) continue; // it was woken before it slept
      expect(turn).toBeUndefined();
      soon += 1;
    }
    expect(soon).toBe(10);
  });

  it("gives turns to both", async () => {
    await Promise.all(Array.from({ length: 20 }, () => Promise.all([loopShares.hurriedTurn(), loopShares.idleTurn()])));
  });
});
