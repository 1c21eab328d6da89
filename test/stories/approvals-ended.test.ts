import { expect, it } from "vitest";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const mail = { tool: "mail", arguments: { to: "x" } } as const;
const ttlMs = 60_000;
const approvals = { patience: "suspend", ttlMs } as const;

const ends = {
  withdrawn: async ({ runtime }: RuntimeFixture, id: string) =>
    void (await runtime.approvals.withdraw(id, { user: "asker" }, "not needed")),
  revoked: async ({ runtime }: RuntimeFixture, id: string) => {
    await runtime.approvals.decide(id, { decision: "approved", by: boss });
    await runtime.approvals.revoke(id, boss);
  },
  expired: async ({ clock }: RuntimeFixture) => clock.advance(ttlMs),
  "approved and not used": async ({ runtime, clock }: RuntimeFixture, id: string) => {
    await runtime.approvals.decide(id, { decision: "approved", by: boss });
    await clock.advance(ttlMs);
  },
} as const;

it.each(Object.keys(ends) as (keyof typeof ends)[])(
  "a call whose request was %s is listed as denied, not held",
  async (end) => {
    for (const kind of storeKinds) {
      await using h = await runtimeFixture({ approvals, store: newStore(kind) });
      const { approvalId = "", callId } = await h.runtime.invoke(mail, asker);
      expect(await h.runtime.calls.list({ state: "held" })).toHaveLength(1);
      await ends[end](h, approvalId);
      expect(await h.runtime.calls.list({ state: "held" })).toEqual([]);
      const code = end === "withdrawn" || end === "revoked" ? "approval_withdrawn" : "approval_expired";
      expect(await h.runtime.calls.list({ state: "denied" })).toMatchObject([{ state: "denied" }]);
      expect(await h.runtime.calls.get(callId)).toMatchObject({ state: "denied", outcome: { refusal: { code } } });
      expect(h.ran).toEqual([]);
    }
  },
);

it.each([undefined, "key-1"])("asks again when it is sent again, with key %s", async (idempotencyKey) => {
  await using h = await runtimeFixture({ approvals });
  const context = { ...asker, ...(idempotencyKey !== undefined && { idempotencyKey }) };
  const { approvalId: first = "" } = await h.runtime.invoke(mail, context);
  await ends.withdrawn(h, first);
  const { status, approvalId = "" } = await h.runtime.invoke(mail, context);
  expect({ status, isNew: approvalId !== first }).toEqual({ status: "pending", isNew: true });
  await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  expect(await h.runtime.resume(approvalId)).toMatchObject({ status: "ok" });
  expect(h.ran).toEqual([{ to: "x" }]);
  expect(await h.runtime.resume(first)).toMatchObject({ refusal: { code: expect.stringMatching(/^approval_/) } });
});
