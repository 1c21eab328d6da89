import type { Authority } from "@postern/core";
import { expect, it } from "vitest";
import { aLogStore, bent } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { RunOwners } from "./run-owners.ts";

const clock = new FakeClock();
const asks = (runId: string, agent = "ann"): Authority => ({
  principal: { tenant: "default", agent },
  scopes: [],
  runId,
  traceId: "0".repeat(32),
});
const ownersOf = (store = aLogStore(clock)) => new RunOwners({ store, clock, policy: { version: "p1" } });

it("asks the store once for a run", async () => {
  const store = aLogStore(clock);
  let reads = 0;
  const get: typeof store.documents.get = (kind, id) => {
    reads += 1;
    return store.documents.get(kind, id);
  };
  const owners = ownersOf(bent(store, { documents: { ...store.documents, get } }));
  expect(await owners.claims(asks("r"))).toBe(true);
  expect(await owners.claims(asks("r"))).toBe(true);
  expect(await owners.claims(asks("r", "bob"))).toBe(false);
  expect(await owners.mayUse(asks("r", "bob"))).toBe(false);
  expect(reads).toBe(1);
});

it("remembers ten thousand runs, and reads the owner of an older one again", async () => {
  const store = aLogStore(clock);
  const owners = ownersOf(store);
  for (let i = 0; i <= 10_000; i += 1) await owners.claims(asks(`r${i}`));
  expect(await owners.claims(asks("r0", "bob"))).toBe(false);
});

it("records no owner when the record cannot be written", async () => {
  const store = aLogStore(clock);
  let full = true;
  const commit: typeof store.commit = (write, durability) =>
    full ? Promise.reject(new Error("disk full")) : store.commit(write, durability);
  const owners = ownersOf(bent(store, { commit }));
  await expect(owners.claims(asks("r"))).rejects.toThrow("disk full");
  full = false;
  expect(await owners.claims(asks("r", "bob"))).toBe(true);
});

it("refuses a run whose record cannot be read to every caller", async () => {
  const store = aLogStore(clock);
  for (const [i, body] of [1, {}, { agent: 1 }].entries()) {
    await store.commit({ write: "document", kind: "run", id: `default/r${i}`, body, expectedVersion: 0 }, "committed");
    expect(await ownersOf(store).claims(asks(`r${i}`)), JSON.stringify(body)).toBe(false);
  }
});
