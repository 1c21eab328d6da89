import { expect, it } from "vitest";
import { all, note, spellPlainly } from "../../test/contracts/records.ts";
import { storeContract } from "../../test/contracts/store-contract.ts";
import { FakeClock } from "../../test/fakes/clock.ts";
import { MapStore } from "./map-store.ts";

storeContract("MapStore", (options) => new MapStore(options));

it("keeps no log when it is told not to, and still tells its followers", async () => {
  await using store = new MapStore({
    clock: new FakeClock(),
    spell: spellPlainly,
    keepEvents: false,
  });
  let told = 0;
  using _ = store.follow((entries) => {
    told += entries.length;
  });
  await store.commit(note("a"), "committed");
  expect(told).toBe(1);
  expect(await all(store.events({ after: -1 }))).toEqual([]);
});

it("makes nothing true whose event cannot be spelled", async () => {
  const spell = (): string => {
    throw new Error("unspeakable");
  };
  await using store = new MapStore({ clock: new FakeClock(), spell });
  const write = { write: "document", kind: "k", id: "i", body: 1, expectedVersion: 0 } as const;
  await expect(
    store.commit(
      {
        ...write,
        event: { moment: "noted", at: 0, type: "t", summary: "", traceId: "", outcome: "info" },
      },
      "queued",
    ),
  ).rejects.toMatchObject({ code: "store_unwritable" });
  expect(await store.documents.get("k", "i")).toBeUndefined();
});
