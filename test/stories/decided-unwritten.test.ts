import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createPolicy, type Policy } from "../../packages/postern/src/policy/index.ts";
import { ann, approve, ask, mail } from "../fakes/deciders.ts";
import { type Failing, FaultyStore } from "../fakes/faulty-store.ts";
import { asker, eventTypes, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const remember = { for: "run", reason: "all to the team" } as const;

async function open(failing: Failing, policy?: Policy): Promise<RuntimeFixture> {
  const clock = new FakeClock();
  return runtimeFixture({ clock, store: new FaultyStore(clock, failing), ...(policy && { policy }) });
}

/** A policy that asks at first, and allows everything once `ease` is called. */
function loosenablePolicy(): { readonly policy: Policy; ease(): void } {
  let inner = createPolicy({ rules: [{ effect: "confirm", tool: "*" }] });
  return {
    policy: {
      version: "easing",
      decide: (facts) => inner.decide(facts),
      offers: (principal, tool) => inner.offers(principal, tool),
    },
    ease: () => {
      inner = createPolicy({ rules: [{ effect: "allow", tool: "*" }], maxRiskUnapproved: "high" });
    },
  };
}

describe("an approval with a grant is one write", () => {
  it("if it fails, nothing is decided or remembered; sent again, both are", async () => {
    const failing: Failing = new Map();
    await using h = await open(failing);
    const id = await ask(h);
    failing.set("decide", 1);
    await expect(approve(h, id, ann, { remember })).rejects.toMatchObject({ code: "store_unwritable" });
    expect(await h.runtime.approvals.get(id)).toMatchObject({ state: "pending" });
    expect(h.runtime.approvals.grants.list()).toEqual([]);
    expect(await approve(h, id, ann, { remember })).toMatchObject({
      decided: true,
      grant: { by: "ann", approvalId: id },
    });
    expect((await h.runtime.invoke(mail("y"), asker)).status).toBe("ok");
    expect((await eventTypes(h.runtime)).filter((type) => /^(grant\.made|gate\.approved)$/.test(type))).toEqual([
      "gate.approved",
      "grant.made",
    ]);
  });

  it("no second write follows it, so a grant cannot be lost after the answer", async () => {
    const failing: Failing = new Map();
    await using h = await open(failing);
    const id = await ask(h);
    failing.set("document", 100);
    expect(await approve(h, id, ann, { remember })).toMatchObject({ decided: true, grant: { by: "ann" } });
    failing.clear();
    expect((await h.runtime.invoke(mail("y"), asker)).status).toBe("ok");
  });
});

describe("a withdrawal by the policy that cannot be written is answered as audit_unavailable", () => {
  it("for a request that is no longer needed", async () => {
    const failing: Failing = new Map();
    const { policy, ease } = loosenablePolicy();
    await using h = await open(failing, policy);
    await ask(h);
    ease();
    failing.set("decide", 1);
    expect(await h.runtime.invoke(mail(), asker)).toMatchObject({ refusal: { code: "audit_unavailable" } });
    expect(h.ran).toEqual([]);
    expect((await h.runtime.invoke(mail(), asker)).status).toBe("ok");
  });

  it("for an approval that is void", async () => {
    const failing: Failing = new Map();
    await using h = await open(failing);
    const id = await ask(h);
    await approve(h, id, ann);
    const offered = h.runtime.tools.offer("mail");
    h.runtime.tools.register(
      {
        ...{ name: "mail", description: "Sends two.", risk: "high", effects: "write", idempotent: false },
        ...{ input: offered?.inputSchema ?? {}, execute: () => "sent" },
      } as never,
      { replace: true },
    );
    await h.runtime.tools.ready();
    failing.set("decide", 1);
    expect(await h.runtime.resume(id)).toMatchObject({ refusal: { code: "audit_unavailable" } });
    expect(await h.runtime.approvals.get(id)).toMatchObject({ state: "approved" });
    expect(await h.runtime.resume(id)).toMatchObject({ refusal: { code: "approval_expired" } });
  });
});
