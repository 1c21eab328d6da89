import { expect, it } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { note, serializePlainly } from "../testing/records.ts";
import { storeContract } from "../testing/store-contract.ts";
import { MemoryStore } from "./memory-store.ts";

storeContract("MemoryStore", (options) => new MemoryStore(options));

it("writes nothing when its event cannot be serialized", async () => {
  const serialize = (): string => {
    throw new Error("unspeakable");
  };
  await using store = new MemoryStore({ clock: new FakeClock(), serialize });
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

it("lets timers and sockets have their turn when writes follow each other for long", async () => {
  class TurnClock extends FakeClock {
    passedMs = 0;

    override monotonic(): number {
      return this.passedMs;
    }
  }
  const clock = new TurnClock();
  await using store = new MemoryStore({ clock, serialize: serializePlainly });
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  await store.commit(note("first"), "committed");
  expect(turned).toBe(false);
  clock.passedMs = 5;
  await store.commit(note("late"), "committed");
  expect(turned).toBe(true);
});

it("tells everyone of every batch, also when a follower and its log throw", async () => {
  const fail = (): never => {
    throw new Error("no");
  };
  await using store = new MemoryStore({ clock: new FakeClock(), serialize: serializePlainly, log: fail });
  const told: number[] = [];
  store.follow(fail);
  store.follow((entries) => told.push(...entries.map(({ seq }) => seq)));
  for (let i = 0; i < 3; i += 1) expect(await store.commit(note("n"), "committed")).toEqual({ won: true });
  expect(told).toEqual([0, 1, 2]);
});
