import { describe, expect, it } from "vitest";
import { ann, ask, bob, mail, seen, yes } from "../../fakes/deciders.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { cal, lend, openRouted } from "../../fakes/route-fixture.ts";
import { asker, runtimeFixture } from "../../fakes/runtime-fixture.ts";

describe("two spellings of a name are one person", () => {
  it.each(["Ann", "ANN", "ａｎｎ"])("`%s` who asked is `ann` who would decide", async (user) => {
    await using h = await openRouted({ separateUser: true });
    const principal = { ...asker.principal, user };
    const { approvalId = "" } = await h.runtime.invoke(mail(), { principal });
    expect(await yes(h, approvalId, ann)).toMatchObject({
      code: "decider_not_allowed",
      message: expect.stringContaining("`ann` asked for this call"),
    });
  });

  it("and a vote from before there were accounts, and one by the account, are one person's", async () => {
    await using h = await runtimeFixture({
      approvals: { patience: "suspend", routes: [{ quorum: 2 }] },
      accounts: { passwordCost: cheap },
    });
    const id = await ask(h);
    await yes(h, id, { user: "Ann", via: "channel:chat", tenant: "default", signedIn: false });
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
    expect(await yes(h, id, ann)).toMatchObject({
      code: "approval_voted",
      message: expect.stringContaining("`ann` has voted"),
    });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it("and a route and a delegation may spell it either way", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", routes: [{ to: { users: ["Ann"] } }] } });
    expect(await yes(h, await ask(h, mail("1")), ann)).toMatchObject({ approval: { state: "approved" } });
    await lend(h, ann, "Bob");
    expect(await yes(h, await ask(h, mail("2")), bob)).toMatchObject({ approval: { decision: { onBehalfOf: "ann" } } });
    expect(await h.runtime.approvals.delegations.make({ to: "ANN", until: h.clock.now() + 1000 }, ann)).toMatchObject({
      message: "`ANN` is you; delegate to another person.",
    });
  });
});

describe("who was lent several words", () => {
  it("says the first that was not said yet, and finds it among theirs", async () => {
    await using h = await openRouted({ quorum: 2, to: { users: ["ann", "bob"] } });
    await lend(h, ann, "cal");
    await lend(h, bob, "cal");
    const id = await ask(h);
    await yes(h, id, ann);
    expect((await h.runtime.approvals.page({}, cal)).approvals).toHaveLength(1);
    expect(await yes(h, id, cal)).toMatchObject({
      approval: { state: "approved", decision: { by: "cal", onBehalfOf: "bob" } },
    });
  });

  it("is told whose was said when all of them were, and may still edit in their place", async () => {
    await using h = await openRouted({ quorum: 2, to: { users: ["ann", "bob"] } });
    await lend(h, ann, "cal");
    const id = await ask(h);
    await yes(h, id, ann);
    expect((await h.runtime.approvals.page({}, cal)).approvals).toEqual([]);
    expect(await yes(h, id, cal)).toMatchObject({
      code: "approval_voted",
      message: `\`ann\` has voted on \`${id}\` already; another person must.`,
    });
    const edit = { decision: "modified", arguments: { to: "y" }, by: cal } as const;
    expect(await h.runtime.approvals.decide(id, edit)).toMatchObject({
      approval: { state: "pending", votes: [{ by: "cal", onBehalfOf: "ann" }] },
    });
    expect(await yes(h, id, bob, await seen(h, id))).toMatchObject({ approval: { state: "approved" } });
  });

  it("has of none more than who lent it has today, where a person who signed in is asked", async () => {
    await using h = await openRouted({ to: { users: ["ann"] }, signedIn: true });
    await lend(h, { ...ann, via: "token:tok_1", signedIn: false }, "bob");
    const id = await ask(h);
    expect(await yes(h, id, bob)).toMatchObject({ code: "decider_not_allowed" });
    const one = await lend(h, ann, "bob");
    expect(one.signedIn).toBe(true);
    expect(await yes(h, id, bob)).toMatchObject({ approval: { state: "approved" } });
  });
});
