import { describe, expect, it } from "vitest";
import { ann } from "../../fakes/deciders.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { runtimeFixture } from "../../fakes/runtime-fixture.ts";

describe("a delegation goes to an account that may decide", () => {
  it.each([
    ["an unknown name", "nosuchperson", "There is no account `nosuchperson`"],
    ["a viewer", "vic", "`vic` has no role that decides"],
    ["a disabled account", "gone", "`gone` is disabled"],
    ["an account of another tenant", "mal", "There is no account `mal`"],
    ["the data folder's operator", "operator", "There is no account `operator`"],
    ["its giver in another spelling", "Ann", "`ann` is you"],
  ])("is refused to %s", async (_, to, output) => {
    await using h = await runtimeFixture({ accounts: { passwordCost: cheap } });
    const { accounts, approvals } = h.runtime;
    await accounts.add({ name: "ann", roles: ["approver"] }, holder);
    await accounts.add({ name: "vic", roles: ["viewer", "operator", "admin"] }, holder);
    await accounts.add({ name: "gone", roles: ["approver"] }, holder);
    await accounts.change("gone", { disabled: true }, holder);
    await accounts.add({ name: "mal", roles: ["approver"], tenant: "acme" }, holder);
    const made = await approvals.delegations.make({ to, until: h.clock.now() + 60_000 }, ann);
    expect(made).toMatchObject({ delegated: false, code: "delegation_invalid" });
    expect(made).toMatchObject({ message: expect.stringContaining(output) });
    expect(approvals.delegations.list()).toEqual([]);
  });

  it("is stored under the account's own name", async () => {
    await using h = await runtimeFixture({ accounts: { passwordCost: cheap } });
    for (const name of ["ann", "bob"]) await h.runtime.accounts.add({ name, roles: ["approver"] }, holder);
    const made = await h.runtime.approvals.delegations.make({ to: "Bob", until: h.clock.now() + 60_000 }, ann);
    expect(made).toMatchObject({ delegation: { to: "bob" } });
  });

  it("goes to any name where a program has no accounts", async () => {
    await using h = await runtimeFixture();
    const made = await h.runtime.approvals.delegations.make({ to: "whoever", until: h.clock.now() + 60_000 }, ann);
    expect(made).toMatchObject({ delegation: { to: "whoever" } });
  });
});
