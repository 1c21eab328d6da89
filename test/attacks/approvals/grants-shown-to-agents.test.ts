import { expect, it } from "vitest";
import { ann, approve, mail } from "../../fakes/deciders.ts";
import { bodyOf, type HttpFixture, httpFixture } from "../../fakes/http-fixture.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const agent = { principal: { tenant: "default", agent: "local-agent", via: "token:agent" }, scopes: [] } as const;
const remember = { reason: "only people read this" };

/** A runtime behind an HTTP server, where Ann has an account. */
async function open(): Promise<RuntimeFixture & { readonly http: HttpFixture }> {
  const h = await runtimeFixture({
    approvals: { patience: "suspend" },
    accounts: { passwordCost: cheap },
  });
  await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
  return { ...h, http: await httpFixture(h.runtime, { clock: h.clock }) };
}

it("explain shows an agent the verdict, and nothing about a silent grant, its approver or reason", async () => {
  await using h = await open();
  const span = { for: { until: h.clock.now() + 3_600_000 }, ...remember };
  const { approvalId = "" } = await h.runtime.invoke(mail("first"), agent);
  expect(await approve(h, approvalId, ann, { remember: span })).toMatchObject({ decided: true });
  const explained = async (as: "agent" | "operator"): Promise<string> => {
    const path = as === "agent" ? "/v1/explain" : "/v1/policy/explain";
    return JSON.stringify(await bodyOf(await h.http.ask(path, { as, body: { ...mail("x"), scopes: [] } })));
  };
  expect(await explained("agent")).toContain("grt_"); // the one that answers is the agent's own
  await h.runtime.accounts.change("ann", { disabled: true }, holder);
  const output = await explained("agent");
  expect(output).toContain('"verdict":"CONFIRM"');
  expect(output).toContain('"rule"'); // the reasons of the policy are shown
  for (const hidden of ["grt_", "ann", "only people read this", "disabled"]) expect(output).not.toContain(hidden);
  expect(await explained("operator")).toContain("`ann` is disabled");
});

it("a silent grant is listed as silent for an agent, and with its reason for people", async () => {
  await using h = await open();
  const { approvalId = "" } = await h.runtime.invoke(mail("first"), agent);
  await approve(h, approvalId, ann, { remember: { for: "run", ...remember } });
  await h.runtime.accounts.change("ann", { disabled: true }, holder);
  const silent = async (as: "agent" | "operator") =>
    (await bodyOf(await h.http.ask("/v1/grants", { as })))["grants"] as readonly { readonly silent?: string }[];
  expect((await silent("agent")).map((one) => one.silent)).toEqual(["it counts no more"]);
  expect((await silent("operator")).map((one) => one.silent)).toEqual(["`ann` is disabled"]);
});
