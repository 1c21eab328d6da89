import { permissions, permissionsOf, roles } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entered, here, holder, type People, people } from "../../../../test/fakes/people.ts";
import { eventIn } from "../audit/entry.ts";
import type { Account, NewToken } from "./accounts.ts";

const dayMs = 86_400_000;

describe("an API token", () => {
  it("does what its owner may do now, within what it was made for; and nothing once it is revoked, expired, or its owner disabled", async () => {
    const { accounts, add, clock, acts } = await people();
    const ada = await add("ada", ["approver", "operator"]);
    const mine = { by: "ada", via: "session:ada", tenant: "default" };
    const make = (ttlMs?: number) =>
      accounts.makeToken(
        { name: "ci", kind: "person", permissions: ["approvals:decide", "calls:read"], ttlMs },
        ada,
        mine,
      );
    const [one, two, three] = [await make(), await make(1_000), await make()];
    expect([...((await accounts.token(one.text))?.permissions ?? [])].sort()).toEqual([
      "approvals:decide",
      "calls:read",
    ]);
    await accounts.change("ada", { roles: ["viewer"] }, holder);
    expect([...((await accounts.token(one.text))?.permissions ?? [])]).toEqual(["calls:read"]);
    let told = 0;
    (await accounts.token(one.text))?.whenEnded(() => {
      told += 1;
    });
    await accounts.revokeToken(one.token.id, mine, "ada");
    expect(told).toBe(1);
    expect(await accounts.token(one.text)).toBeUndefined();
    await clock.advance(1_000);
    expect(await accounts.token(two.text)).toBeUndefined();
    expect(await accounts.token(three.text)).toBeDefined();
    await accounts.change("ada", { disabled: true }, holder);
    expect(await accounts.token(three.text)).toBeUndefined();
    expect(await acts()).toContain("token_revoked");
  });

  it("cannot be made for more than its owner has, to make other tokens, or to last for ever", async () => {
    const { accounts, add } = await people();
    const ada = await add("ada", ["viewer"]);
    const mine = { by: "ada", via: "session:ada", tenant: "default" };
    for (const wanted of [
      { permissions: ["approvals:decide"] as const },
      { permissions: ["tokens:own"] as const },
      { ttlMs: 367 * dayMs },
      { ttlMs: 0 },
      { ttlMs: Number.NaN },
      { scopes: ["a b"] },
      { name: "a\nb" },
      { agent: "spy" },
    ])
      await expect(accounts.makeToken({ name: "ci", kind: "person", ...wanted }, ada, mine)).rejects.toMatchObject({
        code: "token_refused",
      });
  });

  it("of an agent calls and sees its own, whatever its owner may decide", async () => {
    const { accounts, add } = await people();
    const ada = await add("ada", ["approver", "operator", "admin"]);
    const wanted = { name: "bot", kind: "agent", scopes: ["mail:write"], agent: "mailer", user: "bob" } as const;
    const { text, token } = await accounts.makeToken(wanted, ada, holder);
    expect(token).toMatchObject({ agent: "mailer", user: "bob", scopes: ["mail:write"] });
    expect([...((await accounts.token(text))?.permissions ?? [])]).not.toContain("approvals:decide");
  });

  it("is listed and revoked by its owner and its tenant's admin, and by no one else", async () => {
    const { accounts, add } = await people();
    const ada = await add("ada", ["viewer"]);
    const eve = await add("eve", ["viewer"], "acme");
    const { token } = await accounts.makeToken({ name: "ci", kind: "person" }, ada, holder);
    await accounts.makeToken({ name: "theirs", kind: "person" }, eve, holder);
    const as = (by: string, tenant: string) => ({ by, via: `session:${by}`, tenant });
    expect((await accounts.listTokens(as("root", "default"))).map(({ owner }) => owner)).toEqual(["ada"]);
    expect(await accounts.listTokens(as("bob", "default"), "bob")).toEqual([]);
    for (const [actor, owner] of [
      [as("bob", "default"), "bob"],
      [as("eve", "acme"), undefined],
    ] as const)
      await expect(accounts.revokeToken(token.id, actor, owner)).rejects.toMatchObject({ code: "token_unknown" });
    for (const id of ["", "tok_", "tok_../../x", "tok_%", token.id.slice(0, -1)])
      await expect(accounts.revokeToken(id, holder)).rejects.toMatchObject({ code: "token_unknown" });
    expect(await accounts.revokeToken(token.id, as("ada", "default"), "ada")).toMatchObject({ id: token.id });
  });

  it("tells when it was last used, to the minute", async () => {
    const { accounts, add, clock } = await people();
    const { text, token } = await accounts.makeToken(
      { name: "ci", kind: "person" },
      await add("ada", ["viewer"]),
      holder,
    );
    expect((await accounts.listTokens(holder))[0]?.lastUsedAt).toBeUndefined();
    await accounts.token(text);
    const first = clock.now();
    await clock.advance(30_000);
    await accounts.token(text);
    expect(await accounts.listTokens(holder)).toMatchObject([{ id: token.id, lastUsedAt: first }]);
  });
});

describe("whose agent a token calls as", () => {
  const agentOf = async (p: People, maker: Account, wanted: Partial<NewToken> & { readonly name: string }) =>
    (await p.accounts.makeToken({ kind: "agent", ...wanted }, maker, { by: maker.name, via: `session:${maker.name}` }))
      .token.agent;

  it("is its maker's own, whatever name they ask for", async () => {
    const p = await people();
    const eve = await p.add("eve", ["operator"]);
    expect(await agentOf(p, eve, { name: "bot" })).toBe("eve/bot");
    expect(await agentOf(p, eve, { name: "bot", agent: "eve/bot" })).toBe("eve/bot");
    for (const theirs of ["mailer", "ada/mailer", "operator/x", "EVE/bot", "eve", "local-agent"])
      expect(await agentOf(p, eve, { name: "bot", agent: theirs })).toBe(`eve/${theirs}`);
  });

  it("may be any agent of the tenant for an admin, and never one of Postern's own", async () => {
    const p = await people();
    const ada = await p.add("ada", ["admin", "operator"]);
    expect(await agentOf(p, ada, { name: "mailer" })).toBe("mailer");
    for (const own of ["local-agent", "operator-cli", "console", "api"])
      await expect(agentOf(p, ada, { name: "bot", agent: own })).rejects.toMatchObject({ code: "token_refused" });
    const long = await p.add("e".repeat(64), ["operator"]);
    await expect(agentOf(p, long, { name: "b".repeat(64) })).rejects.toMatchObject({ code: "token_refused" });
  });

  it.each([
    ["an agent", { agent: "mailer" }, "it calls as the agent `mailer`"],
    ["a user", { agent: "ada/bot", user: "bob" }, "it calls for `bob`"],
  ])("and its name for %s ends with its maker's being an admin", async (_, wanted, why) => {
    const p = await people();
    const ada = await p.add("ada", ["admin", "operator"]);
    const { text } = await p.accounts.makeToken({ name: "bot", kind: "agent", ...wanted }, ada, holder);
    expect(await p.accounts.token(text)).toBeDefined();
    await p.accounts.change("ada", { roles: ["operator"] }, holder);
    expect(await p.accounts.token(text)).toBeUndefined();
    expect(await p.accounts.listTokens(holder)).toMatchObject([{ state: "dead", why: expect.stringContaining(why) }]);
    await p.accounts.change("ada", { roles: ["admin", "operator"] }, holder);
    expect(await p.accounts.token(text)).toBeDefined();
  });
});

describe("a token whose maker is not what they were", () => {
  it("does not work while its owner is disabled, and lists and events show it", async () => {
    const { accounts, add, clock, store } = await people();
    const ada = await add("ada", ["operator"]);
    const [one, gone] = [
      await accounts.makeToken({ name: "ci", kind: "person" }, ada, holder),
      await accounts.makeToken({ name: "old", kind: "person" }, ada, holder),
    ];
    await accounts.revokeToken(gone.token.id, holder);
    await accounts.change("ada", { disabled: true }, holder);
    expect(await accounts.listTokens(holder)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: one.token.id, state: "dead", why: "`ada`, who made it, is disabled" }),
        expect.objectContaining({ id: gone.token.id, state: "revoked" }),
      ]),
    );
    for (let tries = 0; tries < 5; tries += 1) expect(await accounts.token(one.text)).toBeUndefined();
    await clock.advance(60_000);
    expect(await accounts.token(one.text)).toBeUndefined();
    const told: unknown[] = [];
    for await (const { body } of store.events({ after: -1 })) {
      const { type = "", data: stored } = eventIn(body) ?? {};
      const data = Object(stored);
      if (/disabled|token_refused/.test(type)) told.push([type, data.tokens_ended ?? data.token, data.why]);
    }
    const refused = ["operator.action.token_refused", one.token.id, "`ada`, who made it, is disabled"];
    expect(told).toEqual([["operator.action.account_disabled", [one.token.id], undefined], refused, refused]);
    await accounts.change("ada", { disabled: false }, holder);
    expect(await accounts.token(one.text)).toBeDefined();
  });

  it("shows which permissions it lost", async () => {
    const { accounts, add } = await people();
    const ada = await add("ada", ["approver"]);
    await accounts.makeToken(
      { name: "ci", kind: "person", permissions: ["approvals:decide", "calls:read"] },
      ada,
      holder,
    );
    expect(await accounts.listTokens(holder)).toMatchObject([{ state: "live", lost: [] }]);
    await accounts.change("ada", { roles: ["viewer"] }, holder);
    expect(await accounts.listTokens(holder)).toMatchObject([{ state: "live", lost: ["approvals:decide"] }]);
  });

  it("ends with the built-in operator's session that made it; what the folder's own token made stays", async () => {
    const { accounts, add, acts } = await people();
    const { account } = entered(await accounts.signInByLink((await accounts.makeLink("operator", holder)).token, here));
    const wanted = { name: "ci", kind: "person" } as const;
    const bySession = await accounts.makeToken(wanted, account, { by: "operator", via: "session:operator" });
    const byFolder = await accounts.makeToken(wanted, account, holder);
    expect(await accounts.token(bySession.text)).toBeDefined();
    await add("ada", ["viewer"]);
    expect(await accounts.token(bySession.text)).toBeUndefined();
    expect((await accounts.token(byFolder.text))?.permissions.has("approvals:decide")).toBe(true);
    expect(await acts()).toContain("token_refused");
    const [dead] = (await accounts.listTokens(holder)).filter(({ id }) => id === bySession.token.id);
    expect(dead).toMatchObject({ state: "dead", why: expect.stringContaining("ended with the first account") });
  });
});

it("whatever becomes of its owner's roles, a token never may what its owner may not", async () => {
  const someRoles = fc.subarray([...roles]);
  await fc.assert(
    fc.asyncProperty(
      someRoles,
      fc.array(someRoles, { maxLength: 5 }),
      fc.subarray([...permissions]),
      fc.constantFrom("agent" as const, "person" as const),
      fc.constantFrom("default", "acme"),
      async (first, later, wanted, kind, tenant) => {
        const { accounts, add } = await people();
        const ada = await add("ada", first, tenant);
        const may = permissionsOf(first, tenant);
        const asked = accounts.makeToken({ name: "ci", kind, permissions: wanted }, ada, holder);
        const made = await asked.catch((error: { readonly code: string }) => error.code);
        const isTooMuch = wanted.some((one) => !may.has(one));
        if (isTooMuch) expect(made).toBe("token_refused");
        if (typeof made === "string") return;
        for (const held of later) {
          await accounts.change("ada", { roles: held }, holder);
          const now = permissionsOf(held, tenant);
          const found = await accounts.token(made.text);
          for (const one of found?.permissions ?? [])
            expect([one, now.has(one), wanted.includes(one)]).toEqual([one, true, true]);
        }
      },
    ),
  );
});
