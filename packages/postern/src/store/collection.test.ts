import { expect, it } from "vitest";
import { bent } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { eventOf, serializePlainly } from "../testing/records.ts";
import { Collection } from "./collection.ts";
import { LiveCollection } from "./live-collection.ts";
import { MemoryStore } from "./memory-store.ts";
import type { Store } from "./store.ts";

interface Counter {
  readonly count: number;
}

const aStore = () => new MemoryStore({ clock: new FakeClock(), serialize: serializePlainly });
const options = (store: Store) => ({ store, kind: "counter", read: (body: unknown) => body as Counter });
const more = (counter: Counter | undefined) => ({ item: { count: (counter?.count ?? 0) + 1 } });

it("loses no change of many at once, of one process and of two", async () => {
  await using store = aStore();
  const [here, there] = [new LiveCollection(options(store)), new Collection(options(store))];
  await Promise.all(Array.from({ length: 15 }, () => [here.change("a", more), there.change("a", more)]).flat());
  expect(await here.get("a")).toEqual({ count: 30 });
  expect(here.at("a")).toEqual({ count: 30 });
});

it("gives up with one fault if other writers always win", async () => {
  await using store = aStore();
  const tries: unknown[] = [];
  const commit: Store["commit"] = async (write) => {
    tries.push(write);
    return { won: false, version: tries.length };
  };
  const lost = bent(store, { commit });
  await expect(new Collection(options(lost)).change("a", more)).rejects.toMatchObject({
    code: "document_contended",
    message: "The counter `a` is being changed by others all the time; try again.",
  });
  expect(tries.length).toBe(20);
});

it("writes nothing if nothing changes, and says what there is", async () => {
  await using store = aStore();
  const counters = new Collection(options(store));
  expect(await counters.change("a", () => undefined)).toEqual({ changed: false, item: undefined });
  await counters.change("a", more);
  expect(await counters.change("a", () => undefined)).toEqual({ changed: false, item: { count: 1 } });
  expect((await store.documents.get("counter", "a"))?.version).toBe(1);
});

it("has a change in memory when a follower hears of its event, and not if it was not written", async () => {
  await using store = aStore();
  const counters = new LiveCollection(options(store));
  const heard: unknown[] = [];
  using _ = store.follow(() => void heard.push(counters.at("a")));
  await counters.change("a", () => ({ item: { count: 1 }, event: eventOf("counted") }));
  expect(heard).toEqual([{ count: 1 }]);
  const full = new LiveCollection(options(bent(store, { commit: () => Promise.reject(new Error("disk full")) })));
  await expect((await full.readAll()).change("a", more)).rejects.toThrow("disk full");
  expect(full.at("a")).toEqual({ count: 1 });
});

it("keeps a frozen copy of its own", async () => {
  await using store = aStore();
  const counters = new LiveCollection(options(store));
  const item = { count: 1 };
  await counters.change("a", () => ({ item }));
  item.count = 7;
  expect(counters.items).toEqual([{ count: 1 }]);
  expect(Object.isFrozen(counters.at("a"))).toBe(true);
});

it("removes a document, and starts it again with the next version", async () => {
  await using store = aStore();
  const counters = new Collection(options(store));
  await counters.change("a", more);
  await counters.remove("a");
  expect([await counters.get("a"), await counters.ids()]).toEqual([undefined, []]);
  await counters.change("a", more);
  expect(await store.documents.get("counter", "a")).toEqual({ version: 3, body: { count: 1 } });
});
