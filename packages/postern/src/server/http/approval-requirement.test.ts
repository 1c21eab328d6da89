import { expect, it } from "vitest";
import { ann, approve, ask, bob, cal, shownDigestOf } from "../../../../../test/fakes/deciders.ts";
import { bodyOf, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { cheap } from "../../../../../test/fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import type { ApprovalRoute } from "../../approvals/index.ts";
import { defineTool } from "../../index.ts";

const files = sqliteFiles();
const accounts = { passwordCost: cheap };
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  risk: "high",
  effects: "write",
  idempotent: false,
  inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  classifyRisk: ({ n }) => ({ risk: Number(n) > 100 ? "critical" : "high" }),
  execute: () => "paid",
});

/** What a console is told of it, alone and in the list, which is the same. */
async function told(h: RuntimeFixture, id: string): Promise<Record<string, unknown>> {
  await using http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
  const { input_schema: _, ...alone } = await bodyOf(await http.ask(`/v1/approvals/${id}`, { as: "operator" }));
  const list = (await bodyOf(await http.ask("/v1/approvals", { as: "operator" })))["approvals"];
  if (alone["status"] === "pending") expect(list).toContainEqual(alone);
  return alone;
}

it("a request edited up to critical shows what its approval requires", async () => {
  const routes: readonly ApprovalRoute[] = [
    { name: "crit", match: { risk: "critical" }, quorum: 3 },
    { name: "two", quorum: 2 },
  ];
  await using h = await runtimeFixture({ approvals: { patience: "suspend", routes }, accounts }, [pay]);
  const id = await ask(h, { tool: "pay", arguments: { n: 1 } });
  expect(await told(h, id)).toMatchObject({
    routed: { rule: "two", quorum: 2, typed_confirmation: false, signed_in: false },
    quorum_left: 2,
  });
  const edit = { decision: "modified", arguments: { n: 1_000 }, by: ann, confirmation: "pay" } as const;
  await h.runtime.approvals.decide(id, { ...edit, ...(await shownDigestOf(h, id)) });
  expect(await told(h, id)).toMatchObject({
    routed: { rule: "crit", quorum: 3, typed_confirmation: true, signed_in: true },
    ...{ risk_level: "critical", quorum_left: 2, remembers_allowed: false },
  });
  await approve(h, id, bob, { confirmation: "pay", ...(await shownDigestOf(h, id)) });
  expect(await told(h, id)).toMatchObject({ status: "pending", quorum_left: 1 });
  await approve(h, id, { ...cal, roles: ["approver"] }, { confirmation: "pay", ...(await shownDigestOf(h, id)) });
  expect(await told(h, id)).toMatchObject({ status: "approved", quorum_left: 0 });
});

it("a request made before the routes became stricter shows what they require now", async () => {
  const store = `sqlite:${files.at("tightened.db")}`;
  const before = await runtimeFixture({ approvals: { patience: "suspend" }, accounts, store });
  const id = await ask(before);
  expect(await told(before, id)).toMatchObject({ routed: { rule: "default", quorum: 1 }, remembers_allowed: true });
  await before.runtime.close();
  const to = { users: ["ann", "bob"] };
  const route: ApprovalRoute = { name: "r", quorum: 2, typedConfirmation: true, remember: false, to };
  await using h = await runtimeFixture({ approvals: { patience: "suspend", routes: [route] }, accounts, store });
  expect(await told(h, id)).toMatchObject({
    routed: { rule: "r", quorum: 2, typed_confirmation: true, to },
    ...{ quorum_left: 2, remembers_allowed: false },
  });
  expect(await approve(h, id, ann)).toMatchObject({ decided: false, code: "confirmation_needed" });
});

it("an ended request shows what it required, whatever the routes say now", async () => {
  const store = `sqlite:${files.at("over.db")}`;
  const before = await runtimeFixture({ approvals: { patience: "suspend" }, accounts, store });
  const id = await ask(before);
  await approve(before, id, ann);
  await before.runtime.close();
  await using h = await runtimeFixture({
    approvals: { patience: "suspend", routes: [{ quorum: 2 }] },
    accounts,
    store,
  });
  expect(await told(h, id)).toMatchObject({ status: "approved", routed: { rule: "default", quorum: 1 } });
});
