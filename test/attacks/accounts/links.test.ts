import { describe, expect, it } from "vitest";
import { entered, here, holder, type People, people } from "../../fakes/people.ts";

async function ann(): Promise<People> {
  const p = await people();
  await p.add("ann", ["approver"]);
  return p;
}

describe("a leaked sign-in link", () => {
  it("signs in once when it is used a hundred times at once", async () => {
    const { accounts } = await ann();
    const { token } = await accounts.makeLink("ann", holder);
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, n) => accounts.signInByLink(token, { address: `10.0.0.${n}` })),
    );
    expect(all.filter((one) => !("refused" in one))).toHaveLength(1);
  });

  it.each<[string, (p: People) => Promise<unknown>]>([
    ["all sessions of the account were ended", ({ accounts }) => accounts.endSessions("ann", holder)],
    ["a new password was set", ({ accounts }) => accounts.setPassword("ann", "another long password", holder)],
    [
      "the account was disabled and enabled again",
      async ({ accounts }) => {
        await accounts.change("ann", { disabled: true }, holder);
        await accounts.change("ann", { disabled: false }, holder);
      },
    ],
  ])("does not sign in once %s", async (_, change) => {
    const p = await ann();
    const { token } = await p.accounts.makeLink("ann", holder);
    await change(p);
    expect(await p.accounts.signInByLink(token, here)).toEqual({ refused: "wrong" });
  });

  it("works one millisecond before its end, and not at its end", async () => {
    const { accounts, clock } = await ann();
    const first = await accounts.makeLink("ann", holder);
    await clock.advance(first.expiresAt - clock.now() - 1);
    expect(entered(await accounts.signInByLink(first.token, here)).account.name).toBe("ann");
    const second = await accounts.makeLink("ann", holder);
    await clock.advance(second.expiresAt - clock.now());
    expect(await accounts.signInByLink(second.token, here)).toEqual({ refused: "wrong" });
  });

  it("does not sign in as another person, however its parts are combined", async () => {
    const p = await ann();
    await p.add("eve", ["viewer"]);
    const [, secret = ""] = (await p.accounts.makeLink("eve", holder)).token.split(".");
    await p.accounts.makeLink("ann", holder);
    for (const name of ["ann", "ANN", "operator", "", "__proto__"])
      expect(
        await p.accounts.signInByLink(`${Buffer.from(name).toString("base64url")}.${secret}`, { address: name }),
      ).toEqual({ refused: "wrong" });
  });
});
