import { expect, it } from "vitest";
import { ann, shownDigestOf } from "../../fakes/deciders.ts";
import { asker, boss, eventTypes, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const hourMs = 3_600_000;
const request = { tool: "mail", arguments: { to: "asked" } } as const;
const keyed = { ...asker, idempotencyKey: "mine" } as const;

const ask = async (h: RuntimeFixture): Promise<string> => (await h.runtime.invoke(request, keyed)).approvalId ?? "";

/** A request that was edited, approved and never used, and the next request for the same call. */
async function superseded(h: RuntimeFixture): Promise<{ readonly old: string; readonly newer: string }> {
  const old = await ask(h);
  const edit = {
    decision: "modified",
    arguments: { to: "edited" },
    by: ann,
    ...(await shownDigestOf(h, old)),
  } as const;
  expect(await h.runtime.approvals.decide(old, edit)).toMatchObject({ approval: { state: "approved" } });
  await h.clock.advance(hourMs);
  const newer = await ask(h);
  expect(newer).not.toBe(old);
  return { old, newer };
}

it("resuming an approval that a newer request replaced runs nothing and keeps the newer one", async () => {
  await using h = await runtimeFixture();
  const { old, newer } = await superseded(h);
  await h.runtime.approvals.decide(newer, { decision: "approved", by: boss });
  const outcome = await h.runtime.resume(old);
  expect(outcome).toMatchObject({ status: "denied", refusal: { code: "approval_expired", retry: "ask-again" } });
  expect(outcome?.text).toContain(newer);
  expect(await h.runtime.approvals.get(newer)).toMatchObject({ state: "approved" });
  expect(await eventTypes(h.runtime)).not.toContain("gate.withdrawn");
  expect(await h.runtime.resume(newer)).toMatchObject({ status: "ok" });
  expect(h.ran).toEqual([{ to: "asked" }]);
  expect(await h.runtime.resume(old)).toMatchObject({ refusal: { code: "approval_expired" } }); // it is not that one's outcome
});

it("resuming a replaced approval does not wait for the newer one", async () => {
  await using h = await runtimeFixture();
  const { old, newer } = await superseded(h);
  expect(await h.runtime.resume(old, { patience: "wait" })).toMatchObject({ refusal: { code: "approval_expired" } });
  expect(await h.runtime.approvals.get(newer)).toMatchObject({ state: "pending" });
});
