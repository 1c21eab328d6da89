import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../packages/core/src/json.ts";
import type { Decider, DecisionAnswer } from "../../../packages/postern/src/approvals/index.ts";
import type { RuntimeOptions } from "../../../packages/postern/src/index.ts";
import { ann, bob, shownDigestOf } from "../../fakes/deciders.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const script: Decider = { ...ann, via: "token:tok_1", signedIn: false };

/** A tool `pay` that is critical above 100. */
async function openPayRuntime(
  options: RuntimeOptions = {},
): Promise<{ readonly h: RuntimeFixture; readonly paid: JsonObject[] }> {
  const paid: JsonObject[] = [];
  const h = await runtimeFixture(options, [
    {
      name: "pay",
      description: "Pays.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
      classifyRisk: (given) =>
        Number((given as JsonObject)["amount"]) > 100 ? { risk: "critical" } : { summary: "pays a little" },
      execute: (given) => {
        paid.push(given as JsonObject); // the schema says so
        return "paid";
      },
    },
  ]);
  return { h, paid };
}

async function asked({ runtime }: RuntimeFixture): Promise<string> {
  return (await runtime.invoke({ tool: "pay", arguments: { amount: 5 } }, asker)).approvalId ?? "";
}

function edit({ runtime }: RuntimeFixture, id: string, by: Decider, more: object = {}): Promise<DecisionAnswer> {
  return runtime.approvals.decide(id, { decision: "modified", arguments: { amount: 9_000 }, by, ...more });
}

describe("an edit that makes a call critical", () => {
  it("needs a person who signed in, and the typed name of the tool", async () => {
    const { h, paid } = await openPayRuntime();
    await using _ = h;
    const id = await asked(h);
    expect(await edit(h, id, script)).toMatchObject({ decided: false, code: "sign_in_needed" });
    expect(await edit(h, id, ann)).toMatchObject({ decided: false, code: "confirmation_needed" });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
    expect((await h.runtime.resume(id))?.status).toBe("pending");
    expect(paid).toEqual([]);
    expect(await edit(h, id, ann, { confirmation: "pay" })).toMatchObject({ decided: true });
    expect((await h.runtime.resume(id))?.status).toBe("ok");
    expect(paid).toEqual([{ amount: 9_000 }]);
  });

  it("needs as many persons as the route of critical calls requires", async () => {
    const { h, paid } = await openPayRuntime({
      approvals: {
        patience: "suspend",
        routes: [{ name: "two", match: { risk: "critical" }, quorum: 2, typedConfirmation: false }],
      },
    });
    await using _ = h;
    const id = await asked(h);
    expect(await edit(h, id, ann, await shownDigestOf(h, id))).toMatchObject({
      decided: true,
      approval: { state: "pending" },
    });
    expect((await h.runtime.resume(id))?.status).toBe("pending");
    expect(paid).toEqual([]);
    expect(await edit(h, id, ann, await shownDigestOf(h, id))).toMatchObject({
      decided: true,
      approval: { state: "pending" },
    });
    expect(
      await h.runtime.approvals.decide(id, {
        decision: "approved",
        by: bob,
        ...(await shownDigestOf(h, id)),
      }),
    ).toMatchObject({ approval: { state: "approved" } });
  });

  it("is allowed only to the people whom the route of critical calls names", async () => {
    const { h } = await openPayRuntime({
      approvals: {
        patience: "suspend",
        routes: [{ name: "boss", match: { risk: "critical" }, to: { users: ["bob"] }, typedConfirmation: false }],
      },
    });
    await using _ = h;
    const id = await asked(h);
    expect(await edit(h, id, ann)).toMatchObject({ decided: false, code: "decider_not_allowed" });
    expect(await edit(h, id, bob)).toMatchObject({ decided: true });
  });

  it("is not remembered where a critical approval cannot be", async () => {
    const { h } = await openPayRuntime();
    await using _ = h;
    const id = await asked(h);
    const remember = { for: "run", reason: "fine" } as const;
    expect(await edit(h, id, ann, { confirmation: "pay", remember })).toMatchObject({ code: "remember_refused" });
    expect(h.runtime.approvals.grants.list()).toEqual([]);
  });

  it("keeps the first requirements when it is edited back", async () => {
    const { h } = await openPayRuntime();
    await using _ = h;
    const { approvalId: id = "" } = await h.runtime.invoke({ tool: "pay", arguments: { amount: 900 } }, asker);
    const down = { decision: "modified", arguments: { amount: 5 } } as const;
    expect(await h.runtime.approvals.decide(id, { ...down, by: script })).toMatchObject({ code: "sign_in_needed" });
    expect(await h.runtime.approvals.decide(id, { ...down, by: ann })).toMatchObject({ code: "confirmation_needed" });
  });
});
