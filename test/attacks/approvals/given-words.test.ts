import { describe, expect, it } from "vitest";
import type { ApprovalRoute, Decider } from "../../../src/approvals/index.ts";
import { ann, approve, ask, bob } from "../../fakes/deciders.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

/** A runtime with accounts, where Ann has delegated to Bob. */
async function openWithDelegation(route: ApprovalRoute): Promise<RuntimeFixture> {
  const h = await runtimeFixture({
    approvals: { patience: "suspend", routes: [route] },
    accounts: { passwordCost: cheap },
  });
  for (const name of ["ann", "bob", "cal"])
    await h.runtime.accounts.add({ name, roles: ["approver"], groups: [] }, holder);
  const until = h.clock.now() + 3_600_000;
  const giver = { ...ann, groups: [] };
  expect(await h.runtime.approvals.delegations.make({ to: "bob", until }, giver)).toMatchObject({ delegated: true });
  return h;
}

describe("a delegation", () => {
  const forAnn: ApprovalRoute = { name: "ann", to: { users: ["ann"] } };

  it("counts while its giver may decide", async () => {
    await using h = await openWithDelegation(forAnn);
    expect(await approve(h, await ask(h), bob)).toMatchObject({
      approval: { decision: { by: "bob", onBehalfOf: "ann" } },
    });
  });

  it.each([
    ["was disabled", { disabled: true }],
    ["decides nothing any more, though the route names them", { roles: ["viewer"] as const }],
  ])("counts for nothing once its giver %s", async (_, change) => {
    await using h = await openWithDelegation(forAnn);
    const id = await ask(h);
    await h.runtime.accounts.change("ann", change, holder);
    expect(await approve(h, id, bob)).toMatchObject({ decided: false, code: "decider_not_allowed" });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it.each<readonly [string, ApprovalRoute]>([
    ["role", { to: { roles: ["admin"] } }],
    ["group", { to: { groups: ["ops"] } }],
  ])("carries no %s that its giver lost or got since", async (_, route) => {
    await using h = await openWithDelegation(route);
    const { accounts, delegations } = { accounts: h.runtime.accounts, delegations: h.runtime.approvals.delegations };
    const before = { roles: ["approver" as const], groups: [] };
    const now = { roles: ["approver" as const, "admin" as const], groups: ["ops"] };
    const delegatedId = await ask(h);
    await accounts.change("ann", now, holder);
    expect(await approve(h, delegatedId, bob)).toMatchObject({ code: "decider_not_allowed" }); // lent when they had neither
    const until = h.clock.now() + 3_600_000;
    await delegations.make({ to: "bob", until }, { ...ann, ...now });
    await accounts.change("ann", before, holder);
    expect(await approve(h, delegatedId, bob)).toMatchObject({ code: "decider_not_allowed" });
    await accounts.change("ann", now, holder);
    expect(await approve(h, delegatedId, bob)).toMatchObject({ approval: { decision: { onBehalfOf: "ann" } } });
  });

  it("cannot be delegated again", async () => {
    await using h = await openWithDelegation(forAnn);
    const cal: Decider = { ...bob, user: "cal", via: "session:cal" };
    const handedOn = await h.runtime.approvals.delegations.make({ to: "cal", until: h.clock.now() + 1000 }, bob);
    expect(handedOn).toMatchObject({ delegated: true });
    expect(await approve(h, await ask(h), cal)).toMatchObject({ decided: false, code: "decider_not_allowed" });
  });

  it("makes no second person of its giver or of its receiver", async () => {
    await using h = await openWithDelegation({ name: "two", quorum: 2, to: { users: ["ann", "bob"] } });
    const id = await ask(h);
    await approve(h, id, bob);
    expect(await approve(h, id, { ...bob, via: "token:tok_b", signedIn: false })).toMatchObject({
      code: "approval_voted",
    });
    const only = await ask(h, { tool: "mail", arguments: { to: "y" } });
    await approve(h, only, { ...bob, via: "channel:chat" });
    expect((await h.runtime.approvals.get(only))?.state).toBe("pending");
  });

  it("does not cover what its giver asked for", async () => {
    await using h = await openWithDelegation(forAnn);
    const principal = { ...asker.principal, user: "ann" };
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { principal });
    expect(await approve(h, approvalId, bob)).toMatchObject({ decided: false, code: "decider_not_allowed" });
  });

  it("ends at its exact millisecond", async () => {
    await using h = await openWithDelegation(forAnn);
    const early = await ask(h);
    await h.clock.advance(3_599_999);
    const late = await ask(h, { tool: "mail", arguments: { to: "late" } });
    expect(await approve(h, early, bob)).toMatchObject({ decided: true });
    await h.clock.advance(1);
    expect(await approve(h, late, bob)).toMatchObject({ decided: false, code: "decider_not_allowed" });
  });
});
