import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { aLogStore } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { PendingSignIns } from "./pending-sign-ins.ts";
import { newSignIn } from "./sign-in.ts";

const person = (user: string) => ({ tenant: "default", user });

function scene() {
  const clock = new FakeClock();
  const store = aLogStore(clock);
  const pending = new PendingSignIns({ store, key: randomBytes(32) }, { clock, log: () => {} });
  const add = async (user: string) => {
    const progress = newSignIn({});
    const begun = { server: "tracker", address: "a", person: person(user), progress };
    return { state: progress.state, binder: await pending.add(person(user), begun) };
  };
  const stored = (): Promise<readonly string[]> => store.documents.list("connection_sign_in", "");
  return { clock, pending, add, stored };
}

it("keeps the last sign-in of each person, and none that is too old", async () => {
  const { clock, pending, add, stored } = scene();
  const first = await add("ada");
  const second = await add("ada");
  expect(await stored()).toHaveLength(1);
  expect(await pending.take(first.state, first.binder)).toBeUndefined();
  await add("bob");
  await clock.advance(10 * 60_000);
  expect(await pending.take(second.state, second.binder)).toBeUndefined();
  const third = await add("eve");
  expect(await stored()).toHaveLength(1);
  expect(await pending.take(third.state, third.binder)).toMatchObject({ person: person("eve") });
  expect(await stored()).toEqual([]);
});

it("takes nothing for what a browser makes up", async () => {
  const { pending, add, stored } = scene();
  const { state, binder } = await add("ada");
  const [id = ""] = binder.split(".");
  for (const other of ["", ".", id, `${id}.`, `${id}.x`, `${binder}x`, "\0.\0", "é".repeat(10_000)])
    expect(await pending.take(state, other)).toBeUndefined();
  for (const other of ["", "x", `${state}x`]) expect(await pending.take(other, binder)).toBeUndefined();
  expect(await stored()).toHaveLength(1);
  expect(await pending.take(state, binder)).toBeDefined();
});
