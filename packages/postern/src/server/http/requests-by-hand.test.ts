import { expect, it } from "vitest";
import { ann, approve, mail } from "../../../../../test/fakes/deciders.ts";
import { bodyOf, httpFixture, inSession } from "../../../../../test/fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../../../../../test/fakes/people.ts";
import { runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";

it("a person may withdraw the request of their own agent, in any case of letters, and no other", async () => {
  await using h = await runtimeFixture({ accounts: { passwordCost: cheap } });
  const { accounts, approvals } = h.runtime;
  for (const name of ["ann", "bob", "vic"])
    await accounts.add({ name, roles: [name === "vic" ? "viewer" : "approver"], password: goodPassword }, holder);
  await using http = await httpFixture(h.runtime, { accounts, clock: h.clock });
  const withdrawn = async (name: string, user: string): Promise<readonly unknown[]> => {
    const principal = { tenant: "default", agent: "a", user, via: "token:agent" };
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: name + user } }, { principal });
    const headers = inSession(entered(await accounts.signIn(name, goodPassword, here)));
    const isOffered = async (): Promise<unknown> => {
      const looked = await bodyOf(await http.ask(`/v1/approvals/${approvalId}`, { headers }));
      return (looked["viewer"] as { readonly withdraws?: true }).withdraws;
    };
    const before = await isOffered();
    const answered = await http.ask(`/v1/approvals/${approvalId}/withdraw`, { headers, body: {} });
    await answered.text();
    return [before, answered.status, await isOffered(), (await approvals.get(approvalId))?.decision?.by];
  };
  expect(await withdrawn("ann", "ann")).toEqual([true, 200, undefined, "ann"]);
  expect(await withdrawn("ann", "Ann")).toEqual([true, 200, undefined, "ann"]);
  expect(await withdrawn("bob", "ann")).toEqual([undefined, 403, undefined, undefined]);
  expect(await withdrawn("vic", "vic")).toEqual([undefined, 403, undefined, undefined]);
});

it("who lets an approved call run is in the log, once; the agent that asked lets its own run without a word", async () => {
  await using h = await runtimeFixture();
  await using http = await httpFixture(h.runtime, { clock: h.clock });
  const agent = { principal: { tenant: "default", agent: "local-agent" } };
  const approved = async (to: string): Promise<string> => {
    const { approvalId = "" } = await h.runtime.invoke(mail(to), agent);
    await approve(h, approvalId, ann);
    return approvalId;
  };
  const resumed = async (id: string, as: "agent" | "operator"): Promise<void> => {
    const answered = await http.ask(`/v1/approvals/${id}/resume`, { as, body: {} });
    expect([answered.status, (await bodyOf(answered))["status"]]).toEqual([200, "ok"]);
  };
  const [one, two] = [await approved("one"), await approved("two")];
  await resumed(one, "operator");
  await resumed(one, "operator"); // what is used already is only told again
  await resumed(two, "agent");
  expect(await h.runtime.audit.query({ type: "operator.action.call_resumed" })).toMatchObject([
    { decided_by: "operator", decided_via: "token:operator", data: { approval_id: one, tool: "mail" } },
  ]);
  expect(h.ran).toHaveLength(2);
});
