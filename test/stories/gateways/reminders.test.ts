import { expect, it } from "vitest";
import { ann, mail } from "../../fakes/deciders.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { type Gateways, twoGateways } from "../../fakes/two-gateways.ts";

const postgres = testPostgres();
const times = (ttlMs: number) => () => ({
  approvals: {
    patience: "suspend" as const,
    routes: [{ ttlMs, escalateAfterMs: ttlMs / 4, remindBeforeMs: ttlMs / 2, escalateTo: { roles: ["admin"] } }],
  },
});
const typesOf = async ({ b }: Gateways, id: string): Promise<readonly string[]> =>
  (await b.audit.query({ limit: 1_000 }))
    .filter(({ refs, data }) => refs.approval === id || Object(data).approval_id === id)
    .map(({ type }) => type);

it("reminds, escalates and expires in time when the gateway that asked is gone", async () => {
  await using g = await twoGateways(postgres.newStore(), times(3_000));
  const { approvalId = "" } = await g.a.invoke(mail("x"), asker);
  await g.a.close();
  const all = ["gate.required", "approval.escalated", "approval.reminder", "gate.expired"];
  await expect.poll(() => typesOf(g, approvalId), { timeout: 15_000 }).toEqual(all);
  expect((await g.b.approvals.get(approvalId))?.state).toBe("expired");
  expect(g.problems).toEqual([]);
});

it("writes each of them once while both gateways run, and none for a request that one of them decided", async () => {
  await using g = await twoGateways(postgres.newStore(), times(2_000));
  const { approvalId: lapses = "" } = await g.a.invoke(mail("x"), asker);
  const { approvalId: decided = "" } = await g.a.invoke(mail("y"), asker);
  await g.b.approvals.decide(decided, { decision: "denied", by: ann });
  const all = ["gate.required", "approval.escalated", "approval.reminder", "gate.expired"];
  await expect.poll(() => typesOf(g, lapses), { timeout: 15_000 }).toEqual(all);
  expect(await typesOf(g, decided)).toEqual(["gate.required", "gate.denied"]);
  expect(g.problems).toEqual([]);
});
