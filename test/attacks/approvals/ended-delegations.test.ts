import { expect, it } from "vitest";
import { ann, bob } from "../../fakes/deciders.ts";
import { bodyOf, httpFixture, inSession } from "../../fakes/http-fixture.ts";
import { entered, goodPassword, here, holder } from "../../fakes/people.ts";
import { cal, delegate, openRouted } from "../../fakes/route-fixture.ts";

it("only the giver, the receiver or an administrator can end a delegation", async () => {
  await using h = await openRouted({ quorum: 2, to: { users: ["ann", "bob"] } });
  const { delegations } = h.runtime.approvals;
  for (const [by, may] of [
    [bob, false],
    [ann, true],
    [cal, true],
    [{ ...bob, roles: ["approver", "admin"] }, true],
    [{ user: "operator", via: "token:operator" }, true],
  ] as const) {
    const one = await delegate(h, ann, "cal");
    expect((await delegations.revoke(one.id, by)).delegated, by.user).toBe(may);
    if (!may) expect(await delegations.revoke(one.id, by)).toMatchObject({ code: "delegation_invalid" });
    if (!may) expect(delegations.isLive(one)).toBe(true);
    await delegations.revoke(one.id, ann);
  }
});

it("an admin who may not decide can end a delegation over HTTP; other users learn that they cannot", async () => {
  await using h = await openRouted({ quorum: 2 });
  const { accounts } = h.runtime;
  await accounts.add({ name: "root", roles: ["admin"], password: goodPassword }, holder);
  await accounts.setPassword("bob", goodPassword, holder);
  await accounts.change("bob", { roles: ["approver"] }, holder);
  await using http = await httpFixture(h.runtime, { accounts, clock: h.clock });
  const one = await delegate(h, ann, "cal");
  const path = `/v1/delegations/${one.id}/revoke`;
  for (const [name, status] of [
    ["bob", 422],
    ["root", 200],
  ] as const) {
    const headers = inSession(entered(await accounts.signIn(name, goodPassword, here)));
    const listed = await bodyOf(await http.ask("/v1/delegations", { headers }));
    expect(listed, name).toMatchObject({ delegations: [{ delegation_id: one.id }] });
    expect(JSON.stringify(listed).includes('"ends":true'), name).toBe(status === 200);
    expect((await http.ask(path, { method: "POST", body: {}, headers })).status, name).toBe(status);
  }
  expect((await h.runtime.audit.query({ type: "approval.delegation_revoked", by: "root" })).length).toBe(1);
});
