import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { aLogStore } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { type PendingSignIn, PendingSignInSeal } from "./openid.ts";

const begun: PendingSignIn = {
  ...{ redirectUri: "https://p.example/callback", to: "/", state: "s1", verifier: "v", nonce: "n" },
  until: 1000,
};
const store = aLogStore(new FakeClock());
const key = randomBytes(32);

it("opens a started sign-in once, for its own state, in time, and with its own key", async () => {
  const [seal, elsewhere] = [new PendingSignInSeal({ store, key }), new PendingSignInSeal({ store, key })];
  const sealed = seal.seal(begun);
  expect(await seal.take(sealed, "another", 999)).toBeUndefined();
  expect(await seal.take(sealed, "s1", 1000)).toBeUndefined();
  expect(await new PendingSignInSeal({ store, key: randomBytes(32) }).take(sealed, "s1", 999)).toBeUndefined();
  const taken = await Promise.all([seal.take(sealed, "s1", 999), elsewhere.take(sealed, "s1", 999)]);
  expect(taken.filter((one) => one !== undefined)).toEqual([begun]);
  expect(await seal.take(sealed, "s1", 999)).toBeUndefined();
  expect(await seal.take(seal.seal(begun), "s1", 999)).toBeUndefined();
});

it("keeps no state longer than it could be used", async () => {
  const seal = new PendingSignInSeal({ store, key });
  const used = async (): Promise<number> => {
    const bodies = await Promise.all(
      (await store.documents.list("openid_used", "")).map((id) => store.documents.get("openid_used", id)),
    );
    return bodies.reduce((sum, document) => sum + Object.keys(Object(document?.body)).length, 0);
  };
  for (let n = 0; n < 300; n += 1) await seal.take(seal.seal({ ...begun, state: `a${n}` }), `a${n}`, 0);
  expect(await used()).toBeGreaterThanOrEqual(300);
  for (let n = 0; n < 300; n += 1) await seal.take(seal.seal({ ...begun, state: `b${n}`, until: 9000 }), `b${n}`, 5000);
  expect(await used()).toBe(300);
});

it("opens nothing that was changed, cut or made up", async () => {
  const seal = new PendingSignInSeal({ store: aLogStore(new FakeClock()), key });
  const sealed = seal.seal(begun);
  for (const other of ["", "x", sealed.slice(0, 20), sealed.slice(0, -2), `A${sealed.slice(1)}`, `${sealed}AAAA`])
    if (other !== sealed) expect(await seal.take(other, "s1", 0)).toBeUndefined();
  expect(await seal.take(sealed, "s1", 0)).toEqual(begun);
});
