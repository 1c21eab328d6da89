import { describe, expect, it } from "vitest";
import { ann, approve, ask, mail } from "../../fakes/deciders.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { openRouted } from "../../fakes/route-fixture.ts";
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

  it("accepts either spelling in a route", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", routes: [{ to: { users: ["Ann"] } }] } });
    expect(await approve(h, await ask(h, mail("1")), ann)).toMatchObject({ approval: { state: "approved" } });
  });
});
