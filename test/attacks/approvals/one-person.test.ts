import { describe, expect, it } from "vitest";
import { ann, approve, ask, bob, mail, shownDigestOf } from "../../fakes/deciders.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { cal, delegate, openRouted } from "../../fakes/route-fixture.ts";
import { asker, runtimeFixture } from "../../fakes/runtime-fixture.ts";

describe("two spellings of a name are one person", () => {
  it.each(["Ann", "ANN", "ａｎｎ"])("refuses `ann` as decider of what `%s` asked for", async (user) => {
    await using h = await openRouted({ separateUser: true });
    const principal = { ...asker.principal, user };
    const { approvalId = "" } = await h.runtime.invoke(mail(), { principal });
    expect(await approve(h, approvalId, ann)).toMatchObject({
      code: "decider_not_allowed",
      message: expect.stringContaining("`ann` asked for this call"),
    });
  });

  it("counts a vote before accounts existed and one by the account as one person's", async () => {
    await using h = await runtimeFixture({
      approvals: { patience: "suspend", routes: [{ quorum: 2 }] },
      accounts: { passwordCost: cheap },
    });
    const id = await ask(h);
    await approve(h, id, { user: "Ann", via: "channel:chat", tenant: "default", signedIn: false });
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
    expect(await approve(h, id, ann)).toMatchObject({
      code: "approval_voted",
      message: expect.stringContaining("`ann` has voted"),
    });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it("accepts either spelling in a route and in a delegation", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", routes: [{ to: { users: ["Ann"] } }] } });
    expect(await approve(h, await ask(h, mail("1")), ann)).toMatchObject({ approval: { state: "approved" } });
    await delegate(h, ann, "Bob");
    expect(await approve(h, await ask(h, mail("2")), bob)).toMatchObject({
      approval: { decision: { onBehalfOf: "ann" } },
    });
    expect(await h.runtime.approvals.delegations.make({ to: "ANN", until: h.clock.now() + 1000 }, ann)).toMatchObject({
      message: "`ANN` is you; delegate to another person.",
    });
  });
});

describe("a person with several delegations", () => {
  it("decides for the first giver who has not voted, and sees the request as theirs", async () => {
    await using h = await openRouted({ quorum: 2, to: { users: ["ann", "bob"] } });
    await delegate(h, ann, "cal");
    await delegate(h, bob, "cal");
    const id = await ask(h);
    await approve(h, id, ann);
    expect((await h.runtime.approvals.page({}, cal)).approvals).toHaveLength(1);
    expect(await approve(h, id, cal)).toMatchObject({
      approval: { state: "approved", decision: { by: "cal", onBehalfOf: "bob" } },
    });
  });

  it("learns who has voted when all givers have, and may still edit in their place", async () => {
    await using h = await openRouted({ quorum: 2, to: { users: ["ann", "bob"] } });
    await delegate(h, ann, "cal");
    const id = await ask(h);
    await approve(h, id, ann);
    expect((await h.runtime.approvals.page({}, cal)).approvals).toEqual([]);
    expect(await approve(h, id, cal)).toMatchObject({
      code: "approval_voted",
      message: `\`ann\` has voted on \`${id}\` already; another person must.`,
    });
    const edit = { decision: "modified", arguments: { to: "y" }, by: cal } as const;
    expect(await h.runtime.approvals.decide(id, edit)).toMatchObject({
      approval: { state: "pending", votes: [{ by: "cal", onBehalfOf: "ann" }] },
    });
    expect(await approve(h, id, bob, await shownDigestOf(h, id))).toMatchObject({ approval: { state: "approved" } });
  });

  it("counts as signed in only if the giver signed in to delegate", async () => {
    await using h = await openRouted({ to: { users: ["ann"] }, signedIn: true });
    await delegate(h, { ...ann, via: "token:tok_1", signedIn: false }, "bob");
    const id = await ask(h);
    expect(await approve(h, id, bob)).toMatchObject({ code: "decider_not_allowed" });
    const one = await delegate(h, ann, "bob");
    expect(one.signedIn).toBe(true);
    expect(await approve(h, id, bob)).toMatchObject({ approval: { state: "approved" } });
  });
});
