import { expect, it } from "vitest";
import type { Decider } from "../../packages/postern/src/approvals/index.ts";
import type { Runtime } from "../../packages/postern/src/index.ts";
import { asker, boss, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { approved } from "./approvals/approved.ts";

const echo = { tool: "echo", arguments: { to: "x" } };
const mail = { tool: "mail", arguments: { to: "x" } };

const nobody: readonly (readonly [string, unknown])[] = [
  ["a user that is a number", { user: 7 }],
  ["a user that is an object", { user: { toString: () => "ann" } }],
  ["no user", {}],
  ["an empty user", { user: "" }],
  ["a credential that is a number", { user: "ann", via: 7 }],
  ["a tenant that is a list", { user: "ann", tenant: ["default"] }],
  ["roles that are a text", { user: "ann", roles: "approver" }],
  ["groups with a number in it", { user: "ann", groups: ["ops", 7] }],
  ["null", null],
  ["nothing", undefined],
  ["a text", "ann"],
];

it.each(nobody)("%s as decider beside 60 calls: the decider gets the refusal, and all 60 run", async (_what, by) => {
  await using h = await runtimeFixture();
  const { approvalId = "" } = await h.runtime.invoke(mail, asker);
  const decider = by as Decider;
  const { approvals } = h.runtime;
  const decisions = (): Promise<unknown>[] => [
    approvals.decide(approvalId, { decision: "denied", by: decider }),
    approvals.decideMany([approvalId], { decision: "denied", by: decider }),
    approvals.withdraw(approvalId, decider),
    approvals.revoke(approvalId, decider),
    approvals.eligibility([], decider),
    approvals.grants.revoke("grt_none", decider),
  ];
  const calls = Array.from({ length: 60 }, () => h.runtime.invoke(echo, asker));
  for (const settledDecision of await Promise.allSettled(decisions()))
    expect(settledDecision).toMatchObject({
      status: "rejected",
      reason: { name: "RuntimeFault", code: "decision_invalid" },
    });
  for (const { status } of await Promise.all(calls)) expect(status).toBe("ok");
  expect(await approvals.get(approvalId)).toMatchObject({ state: "pending" });
  expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
});

it("a decision that is no object or has no text as reason is refused, and the request stays open", async () => {
  await using h = await runtimeFixture();
  const { approvalId = "" } = await h.runtime.invoke(mail, asker);
  for (const odd of [null, undefined, "denied", { decision: "denied", by: boss, reason: 7 }])
    await expect(h.runtime.approvals.decide(approvalId, odd as never)).rejects.toMatchObject({
      name: "RuntimeFault",
      code: "decision_invalid",
    });
  expect(await h.runtime.approvals.get(approvalId)).toMatchObject({ state: "pending" });
});

const verbs: readonly (readonly [string, (runtime: Runtime, by: never) => Promise<unknown>])[] = [
  ["pause", ({ controls }, by) => controls.pause(by)],
  ["a switch", ({ controls }, by) => controls.setTool("echo", false, by)],
  ["a pin", ({ pins }, by) => pins.approve("echo", by)],
  ["an alarm", ({ alarms }, by) => alarms.resolve("alm_1", by)],
  ["an unknown call", ({ ledger }, by) => ledger.settle("call_1", "failed", "no", by)],
  ["a new account", ({ accounts }, by) => accounts.add({ name: "ann", roles: ["viewer"] }, by)],
  ["the people", ({ accounts }, by) => accounts.list(by)],
  ["the tokens", ({ accounts }, by) => accounts.listTokens(by)],
];

it.each(verbs)(
  "an empty decider cannot act on %s: it is refused as the actor, and nothing is written",
  async (_what, say) => {
    await using h = await runtimeFixture();
    for (const by of [
      null,
      7,
      {},
      { by: "ann" },
      { by: "ann", via: 7 },
      { by: "", via: "x" },
      { by: "a", via: "b", tenant: 7 },
    ])
      await expect(say(h.runtime, by as never)).rejects.toMatchObject({
        name: "RuntimeFault",
        code: "request_invalid",
        message: expect.stringMatching(/^The actor is | of the actor is /),
      });
    expect(await eventTypes(h.runtime)).toEqual([]);
  },
);

it("a resume by another principal finds no approval and runs nothing; its own principal's runs", async () => {
  await using h = await runtimeFixture();
  const id = await approved(h, mail);
  for (const other of [
    { tenant: "evil", agent: "a", user: "asker" },
    { tenant: "default", agent: "b", user: "asker" },
    { tenant: "default", agent: "a", user: "eve" },
    { tenant: "default", agent: "a" },
  ])
    expect(await h.runtime.resume(id, { principal: other })).toBeUndefined();
  expect(h.ran).toEqual([]);
  await expect(h.runtime.resume(id, { principal: null as never })).rejects.toMatchObject({ code: "context_invalid" });
  expect(await h.runtime.resume(id, { principal: { tenant: "default", agent: "a", user: "asker" } })).toMatchObject({
    status: "ok",
  });
  expect(await h.runtime.resume(id, { principal: { tenant: "evil", agent: "a" } })).toBeUndefined(); // nor its result
  expect(await h.runtime.resume(id)).toMatchObject({ status: "ok", replayed: true });
  expect(h.ran).toHaveLength(1);
});

it.each([
  ["a number as its name", { by: 7 }],
  ["an object as its reason", { reason: {} }],
])("an approver that answers with %s denies: nothing runs, and a call beside it does", async (_what, more) => {
  const approver = { name: "odd", ask: async () => ({ decision: "approved", ...more }) as never };
  await using h = await runtimeFixture({ approvals: { approver } });
  const [held, beside] = await Promise.all([h.runtime.invoke(mail, asker), h.runtime.invoke(echo, asker)]);
  expect(held).toMatchObject({ status: "denied", refusal: { code: "approval_denied" } });
  expect(beside.status).toBe("ok");
  expect(h.ran).toHaveLength(1);
});
