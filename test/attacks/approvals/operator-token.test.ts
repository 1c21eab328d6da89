import { describe, expect, it } from "vitest";
import type { ApprovalRoute } from "../../../packages/postern/src/approvals/index.ts";
import { ann, approve, ask, bob, deny, mail, operatorToken } from "../../fakes/deciders.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

/** A runtime where Ann and Bob have accounts, or no accounts exist. */
async function open(route: ApprovalRoute, accounts = true): Promise<RuntimeFixture> {
  const h = await runtimeFixture({
    approvals: { patience: "suspend", routes: [route] },
    accounts: { passwordCost: cheap },
  });
  for (const name of accounts ? ["ann", "bob"] : [])
    await h.runtime.accounts.add({ name, roles: ["approver"] }, holder);
  return h;
}

describe("the operator's token does not count as a second person where people have accounts", () => {
  it("it casts no vote under a quorum, first or last, as an approval or as an edit", async () => {
    await using h = await open({ quorum: 2 });
    const id = await ask(h);
    expect(await approve(h, id, operatorToken)).toMatchObject({
      code: "sign_in_needed",
      message:
        "`mail` is decided by 2 different persons, and the operator's token stands for no person where people have accounts; sign in and decide there.",
    });
    await approve(h, id, ann);
    expect(await approve(h, id, operatorToken)).toMatchObject({ code: "sign_in_needed" });
    const edit = { decision: "modified", arguments: { to: "y" }, by: operatorToken } as const;
    expect(await h.runtime.approvals.decide(id, edit)).toMatchObject({ code: "sign_in_needed" });
    expect((await h.runtime.approvals.page({}, operatorToken)).approvals).toEqual([]);
    expect(await approve(h, id, bob)).toMatchObject({ approval: { state: "approved" } });
  });

  it("it denies a request under a quorum", async () => {
    await using h = await open({ quorum: 2 });
    expect(await deny(h, await ask(h), operatorToken)).toMatchObject({ approval: { state: "denied" } });
  });

  it("it never counts as another person than the asking one", async () => {
    await using h = await open({ separateUser: true });
    const id = await ask(h);
    expect(await approve(h, id, operatorToken)).toMatchObject({
      code: "sign_in_needed",
      message: expect.stringContaining("another person than who asked"),
    });
    expect(await approve(h, id, ann)).toMatchObject({ approval: { state: "approved" } });
  });

  it("a grant it made before accounts existed counts for nothing under separateUser", async () => {
    await using h = await open({ separateUser: true }, false);
    const remember = { for: { until: h.clock.now() + 60_000 }, reason: "to the team" };
    expect(await approve(h, await ask(h), operatorToken, { remember })).toMatchObject({ grant: { by: "operator" } });
    expect(await ask(h, mail("y"))).toBe("");
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
    expect(await ask(h, mail("z"))).toMatch(/^apr_/);
  });

  it("it counts as the one person where no accounts exist", async () => {
    await using h = await open({ separateUser: true }, false);
    expect(await approve(h, await ask(h), operatorToken)).toMatchObject({ approval: { state: "approved" } });
  });
});
