/** What `resume` holds: who continues a call, and by which verdict. */
import { describe, expect, it } from "vitest";
import { remember } from "../../../../test/fakes/granting.ts";
import { probe } from "../../../../test/fakes/probe.ts";
import { asker, boss, runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { newStore, storeKinds } from "../../../../test/fakes/story-store.ts";

const mail = { tool: "mail", arguments: { to: "bob" } };

describe.each(storeKinds)("resume, in %s", (kind) => {
  it.each([
    ["another agent", { ...asker.principal, agent: "b" }],
    ["another user", { ...asker.principal, user: "eve" }],
    ["another tenant", { ...asker.principal, tenant: "other" }],
  ])("runs nothing for %s", async (_who, principal) => {
    await using h = await runtimeFixture({ store: newStore(kind) });
    const { approvalId = "" } = await h.runtime.invoke(mail, asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect(await h.runtime.resume(approvalId, { principal })).toBeUndefined();
    expect(h.ran).toEqual([]);
    expect((await h.runtime.resume(approvalId, { principal: asker.principal }))?.status).toBe("ok");
  });

  it("still asks when the autonomy level was set after a call without one was held", async () => {
    const risky = probe({ risk: "medium", effects: "write", idempotent: false });
    await using h = await runtimeFixture({ store: newStore(kind) }, risky);
    const held = await h.runtime.invoke({ tool: "probe" }, asker);
    expect(held.status).toBe("pending");
    await h.runtime.controls.setAutonomy("A4", { by: "boss", via: "token:operator" });
    const resumed = await h.runtime.resume(held.approvalId ?? "", { principal: asker.principal });
    expect(resumed).toMatchObject({ status: "pending", approvalId: held.approvalId });
  });

  it("does not let a grant answer the safety check of a provider", async () => {
    const checked = probe({
      ...{ risk: "high", effects: "write", idempotent: false },
      classifyRisk: () => ({ risk: "high", confirm: "the provider asks for a person" }),
    });
    await using h = await runtimeFixture({ store: newStore(kind) }, checked);
    const call = (n: number) => h.runtime.invoke({ tool: "probe", arguments: { n } }, asker);
    const { approvalId = "" } = await call(1);
    expect(await remember(h, approvalId)).toMatchObject({ decided: true });
    expect((await call(1)).status).toBe("ok");
    expect((await call(2)).status).toBe("pending");
  });
});
