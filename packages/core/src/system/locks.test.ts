import { expect, it } from "vitest";
import { Locks } from "./locks.ts";

/** A piece of work that ends when it is told to, and what was done until then. */
function works() {
  const done: string[] = [];
  const work = (name: string) => {
    const ends = Promise.withResolvers<void>();
    const body = async (): Promise<string> => {
      done.push(`${name} begins`);
      await ends.promise;
      done.push(`${name} ends`);
      return name;
    };
    return { body, ...ends };
  };
  return { done, work };
}

it("runs what has one name one after another, and what has another name beside it", async () => {
  const { done, work } = works();
  const locks = new Locks();
  const [a, b, c] = [work("a"), work("b"), work("c")];
  const all = [locks.with(["one"], a.body), locks.with(["one", "two"], b.body), locks.with(["three"], c.body)];
  c.resolve();
  b.resolve();
  expect(await all[2]).toBe("c");
  expect(done).toEqual(["a begins", "c begins", "c ends"]);
  a.resolve();
  await Promise.all(all);
  expect(done.slice(3)).toEqual(["a ends", "b begins", "b ends"]);
});

it("goes on after work that failed, and tells its own caller alone", async () => {
  const { work } = works();
  const locks = new Locks();
  const [bad, good] = [work("bad"), work("good")];
  const failed = locks.with(["one"], bad.body);
  const went = locks.with(["one"], good.body);
  bad.reject(new Error("no disk"));
  good.resolve();
  await expect(failed).rejects.toThrow("no disk");
  expect(await went).toBe("good");
});

it("resolves when all tasks so far are over, also if they failed or there are none", async () => {
  const { done, work } = works();
  const locks = new Locks();
  await locks.over("one");
  const bad = work("bad");
  const failed = locks.with(["one"], bad.body);
  const over = locks.over("one").then(() => done.push("over"));
  bad.reject(new Error("no disk"));
  await expect(failed).rejects.toThrow("no disk");
  await over;
  expect(done).toEqual(["bad begins", "over"]);
});
