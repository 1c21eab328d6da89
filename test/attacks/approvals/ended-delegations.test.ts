import { expect, it } from "vitest";
import { ann, bob } from "../../fakes/deciders.ts";
import { cal, lend, openRouted } from "../../fakes/route-house.ts";

it("a delegation is ended by who gave it, by who has it, or by who administers, and by nobody else", async () => {
  await using h = await openRouted({ quorum: 2, to: { users: ["ann", "bob"] } });
  const { delegations } = h.runtime.approvals;
  for (const [by, may] of [
    [bob, false],
    [ann, true],
    [cal, true],
    [{ ...bob, roles: ["approver", "admin"] }, true],
    [{ user: "operator", via: "token:operator" }, true],
  ] as const) {
    const one = await lend(h, ann, "cal");
    expect((await delegations.revoke(one.id, by)).delegated, by.user).toBe(may);
    if (!may) expect(await delegations.revoke(one.id, by)).toMatchObject({ code: "delegation_invalid" });
    if (!may) expect(delegations.isLive(one)).toBe(true);
    await delegations.revoke(one.id, ann);
  }
});
