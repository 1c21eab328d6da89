import { expect, it } from "vitest";
import { type PendingSignIn, PendingSignInSeal } from "./openid.ts";

const begun: PendingSignIn = {
  ...{ redirectUri: "https://p.example/callback", to: "/", state: "s1", verifier: "v", nonce: "n" },
  until: 1000,
};

it("opens a started sign-in once, for its own state, in time, and only here", () => {
  const seal = new PendingSignInSeal();
  const sealed = seal.seal(begun);
  expect(seal.open(sealed, "another", 999)).toBeUndefined();
  expect(seal.open(sealed, "s1", 1000)).toBeUndefined();
  expect(new PendingSignInSeal().open(sealed, "s1", 999)).toBeUndefined();
  expect(seal.open(sealed, "s1", 999)).toEqual(begun);
  expect(seal.open(sealed, "s1", 999)).toBeUndefined();
  expect(seal.open(seal.seal(begun), "s1", 999)).toBeUndefined();
});

it("opens nothing that was changed, cut or made up", () => {
  const seal = new PendingSignInSeal();
  const sealed = seal.seal(begun);
  for (const other of ["", "x", sealed.slice(0, 20), sealed.slice(0, -2), `A${sealed.slice(1)}`, `${sealed}AAAA`])
    if (other !== sealed) expect(seal.open(other, "s1", 0)).toBeUndefined();
  expect(seal.open(sealed, "s1", 0)).toEqual(begun);
});
