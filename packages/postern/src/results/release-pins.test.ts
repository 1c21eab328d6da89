import { expect, it } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { directLimits, Session } from "../call/session.ts";
import { releasePins } from "./releases.ts";

function pinned(...digests: readonly string[]): Session {
  const session = new Session(directLimits, new FakeClock());
  for (const digest of digests) session.pin(digest);
  return session;
}

it("releases all pins of a session whose body threw (case 185)", async () => {
  const session = pinned("a", "b");
  const unpinned: string[] = [];
  const unpin = async (digest: string): Promise<void> => void unpinned.push(digest);
  const body = async (): Promise<void> => {
    await using stack = new AsyncDisposableStack();
    stack.defer(() => releasePins(session, { unpin }, expect.unreachable));
    throw new Error("the body's own");
  };
  await expect(body()).rejects.toThrow("the body's own");
  expect(unpinned).toEqual(["a", "b"]);
});

it("unpins the others without a throw when one cannot be unpinned (case 186)", async () => {
  const unpinned: string[] = [];
  const problems: string[] = [];
  const unpin = (digest: string): Promise<void> => {
    if (digest === "b") throw new Error("no answer");
    unpinned.push(digest);
    return digest === "c" ? Promise.reject(new Error("late")) : Promise.resolve();
  };
  await releasePins(pinned("a", "b", "c", "d"), { unpin }, (problem) => problems.push(problem));
  expect(unpinned).toEqual(["a", "c", "d"]);
  expect(problems).toEqual([
    "The artifact `b` stays pinned after its session ended: no answer.",
    "The artifact `c` stays pinned after its session ended: late.",
  ]);
});
