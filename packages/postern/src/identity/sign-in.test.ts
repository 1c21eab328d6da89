import { describe, expect, it } from "vitest";
import { entered, goodPassword, here, holder, people } from "../../../../test/fakes/people.ts";
import type { Accounts } from "./accounts.ts";

const minuteMs = 60_000;
const _dayMs = 86_400_000;

describe("signing in", () => {
  it("takes name and password, and is written down; a wrong one too", async () => {
    const { accounts, add, acts } = await people();
    await add("ada", ["approver"]);
    const { account, cookie, csrf } = entered(await accounts.signIn("Ada", goodPassword, here));
    expect(account.name).toBe("ada");
    const found = await accounts.session(cookie, csrf);
    expect([...(found?.permissions ?? [])]).toContain("approvals:decide");
    expect(await accounts.signIn("ada", "wrong horse battery", here)).toEqual({ refused: "wrong" });
    expect(await accounts.signIn("bob", goodPassword, here)).toEqual({ refused: "wrong" });
    expect(await acts()).toEqual(["account_added", "sign_in", "sign_in_failed", "sign_in_failed"]);
  });

  it("keeps no password, no cookie and no link as they are, neither in documents nor in the log", async () => {
    const { accounts, add, store } = await people();
    await add("ada", ["viewer", "operator"]);
    const { cookie } = entered(await accounts.signIn("ada", goodPassword, here));
    const { token: link } = await accounts.makeLink("ada", holder);
    const ada = await accounts.get("ada", holder);
    const { text } = await accounts.makeToken({ name: "ci", kind: "agent" }, ada, holder);
    const kept: string[] = [];
    for (const kind of ["account", "session", "sign-in-link", "api-token"])
      for (const id of await store.documents.list(kind, ""))
        kept.push(id, JSON.stringify(await store.documents.get(kind, id)));
    for await (const { body } of store.events({ after: -1 })) kept.push(body);
    const all = kept.join("\n");
    expect(all).toContain("scrypt");
    for (const secret of [goodPassword, cookie.split(".")[1], link.split(".")[1], text, text.slice(4)])
      expect(all).not.toContain(secret);
  });

  it("slows a name and an address down after ten bad tries in a second, good ones included in nothing", async () => {
    const { accounts, add, clock } = await people();
    await add("ada", ["viewer"]);
    await add("bob", ["viewer"]);
    const from = { address: "10.0.0.1" };
    for (let tries = 0; tries < 20; tries += 1) entered(await accounts.signIn("bob", goodPassword, here));
    for (let tries = 0; tries < 10; tries += 1)
      expect(await accounts.signIn("ada", "wrong horse battery", from)).toEqual({ refused: "wrong" });
    expect(await accounts.signIn("ada", goodPassword, from)).toEqual({ refused: "too_many" });
    expect(await accounts.signIn("ada", goodPassword, here)).toEqual({ refused: "too_many" });
    expect(await accounts.signIn("bob", goodPassword, from)).toEqual({ refused: "too_many" });
    entered(await accounts.signIn("bob", goodPassword, here));
    await clock.advance(1_000);
    entered(await accounts.signIn("ada", goodPassword, from));
  });

  it("lets no more than ten of a hundred tries at the same moment through", async () => {
    const { accounts, add } = await people();
    await add("ada", ["viewer"]);
    const tried = await Promise.all(
      Array.from({ length: 100 }, () => accounts.signIn("ada", "wrong horse battery", here)),
    );
    expect(tried.filter((one) => "refused" in one && one.refused === "wrong")).toHaveLength(10);
  });

  it.each([
    ["disabled", (accounts: Accounts) => accounts.change("ada", { disabled: true }, holder)],
    ["signed out everywhere", (accounts: Accounts) => accounts.endSessions("ada", holder)],
  ])("is refused to who is %s while the password is tried", async (_, change) => {
    const { accounts, add } = await people();
    await add("ada", ["viewer"]);
    const trying = accounts.signIn("ada", goodPassword, here);
    await change(accounts);
    expect(await trying).toEqual({ refused: "wrong" });
  });

  it("hashes a password again that was stored with weaker parameters", async () => {
    const weak = await people();
    await weak.add("ada", ["viewer"]);
    const strong = await people({ store: weak.store, passwordCost: { cost: 4, blockSize: 8, parallel: 1 } });
    entered(await strong.accounts.signIn("ada", goodPassword, here));
    expect((await weak.store.documents.get("account", "ada"))?.body).toMatchObject({ password: { cost: 4 } });
    entered(await strong.accounts.signIn("ada", goodPassword, here));
  });
});

describe("a sign-in link", () => {
  it("signs in once: of twenty at the same moment one gets in", async () => {
    const { accounts, add } = await people();
    await add("ada", ["viewer"]);
    const { token } = await accounts.makeLink("ada", holder);
    const tried = await Promise.all(Array.from({ length: 20 }, () => accounts.signInByLink(token, here)));
    expect(tried.filter((one) => !("refused" in one))).toHaveLength(1);
  });

  it("is over after ten minutes, and when a new one is made", async () => {
    const { accounts, add, clock } = await people();
    await add("ada", ["viewer"]);
    const { token: late } = await accounts.makeLink("ada", holder);
    await clock.advance(10 * minuteMs);
    expect(await accounts.signInByLink(late, here)).toEqual({ refused: "wrong" });
    const { token: replaced } = await accounts.makeLink("ada", holder);
    const { token } = await accounts.makeLink("ada", holder);
    expect(await accounts.signInByLink(replaced, here)).toEqual({ refused: "wrong" });
    entered(await accounts.signInByLink(token, here));
  });

  it("signs the built-in operator in while there is no account; with the first account that session ends", async () => {
    const { accounts, add } = await people();
    const { token } = await accounts.makeLink("operator", holder);
    const { account, cookie, csrf } = entered(await accounts.signInByLink(token, here));
    expect(account).toMatchObject({ name: "operator", roles: ["approver", "operator", "auditor", "admin"] });
    let told = 0;
    (await accounts.session(cookie, csrf))?.whenEnded(() => {
      told += 1;
    });
    const { token: second } = await accounts.makeLink("operator", holder);
    await add("ada", ["admin"]);
    expect(await accounts.session(cookie, csrf)).toBeUndefined();
    expect(told).toBe(1);
    expect(await accounts.signInByLink(second, here)).toEqual({ refused: "wrong" });
    await expect(accounts.makeLink("operator", holder)).rejects.toMatchObject({ code: "account_unknown" });
  });

  it("cannot be guessed: after ten wrong ones in a second the address waits", async () => {
    const { accounts } = await people();
    for (let tries = 0; tries < 10; tries += 1)
      expect(await accounts.signInByLink("b3BlcmF0b3I.x", here)).toEqual({ refused: "wrong" });
    expect(await accounts.signInByLink("b3BlcmF0b3I.x", here)).toEqual({ refused: "too_many" });
  });
});
