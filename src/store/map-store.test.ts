import { expect, it } from "vitest";
import { note, spellPlainly } from "../../test/contracts/records.ts";
import { storeContract } from "../../test/contracts/store-contract.ts";
import { FakeClock } from "../../test/fakes/clock.ts";
import { MapStore } from "./map-store.ts";

storeContract("MapStore", (options) => new MapStore(options));

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
        event: { moment: "noted", at: 0, type: "t", summary: "", traceId: "", policyVersion: "p", outcome: "info" },
      },
      "queued",
    ),
  ).rejects.toMatchObject({ code: "store_unwritable" });
  expect(await store.documents.get("k", "i")).toBeUndefined();
});

it("tells everyone of every batch, also when a follower and its log throw", async () => {
  const fail = (): never => {
    throw new Error("no");
  };
  await using store = new MapStore({ clock: new FakeClock(), spell: spellPlainly, log: fail });
  const told: number[] = [];
  store.follow(fail);
  store.follow((entries) => told.push(...entries.map(({ seq }) => seq)));
  for (let i = 0; i < 3; i += 1) expect(await store.commit(note("n"), "committed")).toEqual({ won: true });
  expect(told).toEqual([0, 1, 2]);
});
