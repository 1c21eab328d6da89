import { expect, it } from "vitest";
import { FakeClock, settled } from "../../test/fakes/clock.ts";
import { GrowingTree } from "./growing-tree.ts";
import { Tree } from "./tree.ts";

/** A tree beside one that never leaves this thread. */
function twoTrees() {
  const clock = new FakeClock();
  const lost: string[] = [];
  const growing = new GrowingTree({ clock, edge: undefined, lost: (why) => lost.push(why) });
  const tree = new Tree();
  const grow = (entries: number): void => {
    for (let i = 0; i < entries; i += 1) {
      const body = `{"n":${tree.size},"ü":"€"}`;
      growing.append(body);
      tree.append(body);
    }
  };
  const move = async (): Promise<void> => {
    for (let times = 0; times < 100; times += 1) {
      grow(1000);
      await growing.edge();
    }
  };
  return { clock, lost, growing, tree, grow, move };
}

/** What ends a thread: an entry that is no text cannot be hashed. */
const poison = 1 as unknown as string;

it("grows as the tree of RFC 6962 does, here and on its thread, asked at any moment", async () => {
  const { growing, tree, grow } = twoTrees();
  await using _ = growing;
  for (const entries of [0, 1, 998, ...Array.from({ length: 100 }, () => 1000), 1, 1, 127, 128, 129, 3000, 7]) {
    grow(entries);
    expect(growing.size).toBe(tree.size);
    expect(await growing.edge()).toEqual(tree.edge());
  }
});

it("tells of what was there when it was asked, whatever comes while it answers", async () => {
  const { growing, tree, grow, move } = twoTrees();
  await using _ = growing;
  await move();
  const asked = [300, 5, 0].map((entries) => {
    grow(entries);
    return { answer: growing.edge(), edge: tree.edge() };
  });
  grow(40);
  for (const { answer, edge } of asked) expect(await answer).toEqual(edge);
  expect(await growing.edge()).toEqual(tree.edge());
});

it("starts its thread when a thousand entries came within a fifth of a second a hundred times more often than not", async () => {
  let threads = 0;
  const count = (): number => (threads += 1);
  process.on("worker", count);
  try {
    const { clock, growing, grow } = twoTrees();
    await using _ = growing;
    for (const [entries, ms] of [
      ...Array.from({ length: 99 }, () => [1000, 200]),
      [1000, 201],
      [1000, 0],
      [999, 0],
    ] as [number, number][]) {
      grow(entries);
      await clock.advance(ms);
      await growing.edge();
      await settled();
      expect(threads).toBe(0);
    }
    for (const expected of [0, 1]) {
      grow(1000);
      await growing.edge();
      await settled();
      expect(threads).toBe(expected);
    }
  } finally {
    process.off("worker", count);
  }
});

it("goes back to what was last known when its thread ends, refuses who asked, and goes on here", async () => {
  const { growing, tree, grow, lost, move } = twoTrees();
  await using _ = growing;
  await move();
  const known = await growing.edge();
  for (let i = 0; i < 128; i += 1) growing.append("{}");
  growing.append(poison);
  await expect(growing.edge()).rejects.toMatchObject({ code: "audit_unavailable" });
  expect(lost).toHaveLength(1);
  expect(growing.size).toBe(known.size);
  grow(5000);
  expect(await growing.edge()).toEqual(tree.edge());
  expect(lost).toHaveLength(1);
});

it("answers nobody for ever: who asked, or asks, when it is closed is refused", async () => {
  const { growing, grow, move } = twoTrees();
  await move();
  grow(1);
  const asked = growing.edge();
  const isClosed = growing[Symbol.asyncDispose]();
  await expect(asked).rejects.toMatchObject({ code: "audit_unavailable" });
  await isClosed;
  await expect(growing.edge()).rejects.toMatchObject({ code: "audit_unavailable" });
});
