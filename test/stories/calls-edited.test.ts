import { expect, it } from "vitest";
import { suspend, type ToolContext } from "../../packages/postern/src/index.ts";
import type { PolicyOptions } from "../../packages/postern/src/policy/index.ts";
import { ann, ask, mail, shownDigestOf } from "../fakes/deciders.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";
import { storeIn } from "../fakes/story-store.ts";

const files = sqliteFiles();
const pay = {
  ...({ name: "pay", description: "Pays.", risk: "high", effects: "write", idempotent: false } as const),
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  execute: async () => "paid",
} as const;
const noMailTo = (to: string): PolicyOptions => ({
  rules: [{ effect: "deny", tool: "mail", arguments: { "$.to": { equals: to } } }],
});

async function editedAndRun(h: RuntimeFixture, more: object = asker): Promise<void> {
  const id = (await h.runtime.invoke(mail("asked"), more)).approvalId ?? "";
  const edit = { decision: "modified", arguments: { to: "edited" }, by: ann, ...(await shownDigestOf(h, id)) } as const;
  expect(await h.runtime.approvals.decide(id, edit)).toMatchObject({ decided: true });
  expect((await h.runtime.resume(id))?.status).toBe("ok");
}

it("simulate judges what ran, and says that a person edited it", async () => {
  await using h = await runtimeFixture();
  await editedAndRun(h);
  expect((await h.runtime.policy.simulate(noMailTo("asked"))).changes).toEqual([]);
  expect((await h.runtime.policy.simulate(noMailTo("edited"))).changes).toMatchObject([
    { arguments: { to: "edited" }, edited: true, before: { verdict: "CONFIRM" }, after: { verdict: "DENY" } },
  ]);
});

it("simulate mentions no edit if there was none", async () => {
  await using h = await runtimeFixture();
  await ask(h, mail("asked"));
  const { waiting } = await h.runtime.policy.simulate(noMailTo("asked"));
  expect(waiting.groups).toMatchObject([{ example: { arguments: { to: "asked" } } }]);
  expect(waiting.groups[0]?.example).not.toHaveProperty("edited");
});

it("rules about the past sum what ran, after a restart too", async () => {
  const policy: PolicyOptions = {
    rules: [{ effect: "deny", tool: "pay", history: { within: "principal", sum: { path: "$.amount", atMost: 100 } } }],
  };
  const kept = storeIn(files.at("what-ran.db"));
  const open = () => runtimeFixture({ ...kept, policy }, [pay]);
  const pays = async (h: RuntimeFixture, amount: number) =>
    h.runtime.invoke({ tool: "pay", arguments: { amount } }, { ...asker, idempotencyKey: `pay ${amount}` });
  const before = await open();
  const id = (await pays(before, 10)).approvalId ?? "";
  const edit = {
    decision: "modified",
    arguments: { amount: 90 },
    by: ann,
    ...(await shownDigestOf(before, id)),
  } as const;
  await before.runtime.approvals.decide(id, edit);
  expect((await before.runtime.resume(id))?.status).toBe("ok");
  expect((await pays(before, 20)).refusal?.code).toBe("permission_denied");
  await before.runtime.close();
  await using h = await open();
  expect((await pays(h, 20)).refusal?.code).toBe("permission_denied");
  expect((await pays(h, 5)).status).toBe("pending");
});

it("a reconcile hook gets the arguments that ran, not those that were sent", async () => {
  const asked: unknown[] = [];
  const lost = {
    ...pay,
    execute: async () => Promise.reject(Object.assign(new Error("gone"), { unknown: true })),
    reconcile: async (given: unknown) => {
      asked.push(given);
      return { found: "succeeded" as const };
    },
  };
  await using h = await runtimeFixture({}, [lost as never]);
  const { approvalId: id = "" } = await h.runtime.invoke({ tool: "pay", arguments: { amount: 10 } }, asker);
  const edit = { decision: "modified", arguments: { amount: 90 }, by: ann, ...(await shownDigestOf(h, id)) } as const;
  await h.runtime.approvals.decide(id, edit);
  const outcome = await h.runtime.resume(id);
  expect(outcome).toMatchObject({ refusal: { code: "outcome_unknown" } });
  expect(await h.runtime.ledger.reconcile(outcome?.callId ?? "")).toMatchObject({ settled: true });
  expect(asked).toEqual([{ amount: 90 }]);
});

it("a tool that waits inside continues with the approved edit, although the first arguments are sent again", async () => {
  const ran: unknown[] = [];
  const waits = {
    ...pay,
    suspends: true,
    execute: async (given: unknown, { frozen }: ToolContext) => {
      ran.push([given, frozen]);
      return frozen === undefined ? suspend("frozen", "apr_of_a_child") : "paid";
    },
  };
  await using h = await runtimeFixture({}, [waits as never]);
  const call = { tool: "pay", arguments: { amount: 10 } };
  const { approvalId: id = "" } = await h.runtime.invoke(call, asker);
  const edit = { decision: "modified", arguments: { amount: 90 }, by: ann, ...(await shownDigestOf(h, id)) } as const;
  await h.runtime.approvals.decide(id, edit);
  expect((await h.runtime.invoke(call, asker)).status).toBe("pending");
  expect((await h.runtime.invoke(call, asker)).status).toBe("ok");
  expect(ran).toEqual([
    [{ amount: 90 }, undefined],
    [{ amount: 90 }, "frozen"],
  ]);
});
