import { expect, it } from "vitest";
import { bent } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { eventOf, serializePlainly } from "../testing/records.ts";
import { commitAndTake } from "./commit-and-take.ts";
import { MemoryStore } from "./memory-store.ts";
import type { StoreEntry } from "./store.ts";

const aStore = () => new MemoryStore({ clock: new FakeClock(), serialize: serializePlainly });
const bare = { write: "document", kind: "k", id: "i", body: 1, expectedVersion: 0 } as const;
const document = (type: string) => ({ ...bare, event: eventOf(type) });

it("takes the winner once, with its own event and no other; the loser never", async () => {
  await using store = aStore();
  const order: string[] = [];
  const take = (): number => order.push("taken");
  const won = commitAndTake(store, document("mine"), "synced", take).then(() => order.push("answered"));
  await Promise.all([store.commit({ write: "note", event: eventOf("other") }, "committed"), won]);
  expect(await commitAndTake(store, document("late"), "synced", take)).toMatchObject({ won: false, version: 1 });
  await store.commit({ write: "note", event: eventOf("more") }, "committed");
  expect(order).toEqual(["taken", "answered"]);
});

it("takes what has no event, and what a store tells without it, when it is written", async () => {
  await using store = aStore();
  let taken = 0;
  const take = (): number => (taken += 1);
  await commitAndTake(store, bare, "synced", take);
  expect(taken).toBe(1);
  const wordless = bent(store, {
    follow: (listener) => store.follow((all) => listener(all.map(({ seq, body }): StoreEntry => ({ seq, body })))),
  });
  await commitAndTake(wordless, { ...document("mine"), id: "other" }, "synced", take);
  expect(taken).toBe(2);
});

it("rejects when it could not be written, and takes nothing", async () => {
  await using store = aStore();
  const full = bent(store, { commit: () => Promise.reject(new Error("disk full")) });
  const take = (): never => expect.fail("taken");
  await expect(commitAndTake(full, document("mine"), "synced", take)).rejects.toThrow("disk full");
  await store.commit({ write: "note", event: eventOf("more") }, "committed");
});
