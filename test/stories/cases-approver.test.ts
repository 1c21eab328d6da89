import { describe, expect, it } from "vitest";
import {
  type ApprovalRecord,
  type Approver,
  autoApprover,
  callbackApprover,
  policyApprover,
} from "../../packages/postern/src/approvals/index.ts";
import { createRuntime } from "../../packages/postern/src/index.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const mail = { tool: "mail", arguments: { to: "x" } } as const;

function answering(answer: Awaited<ReturnType<Approver["ask"]>>, seen: ApprovalRecord[] = []): Approver {
  return {
    name: "test",
    ask: async (request) => {
      seen.push(request);
      return answer;
    },
  };
}

async function asked(
  h: RuntimeFixture,
  request: { readonly tool: string; readonly arguments: { readonly to: string } } = mail,
): ReturnType<RuntimeFixture["runtime"]["invoke"]> {
  const running = h.runtime.invoke(request, asker);
  await h.clock.advance(10);
  return running;
}

describe("an approver in this process", () => {
  it("HIGH tool, handler approves / invoke / ok (case 69)", async () => {
    await using h = await runtimeFixture({ approvals: { approver: answering({ decision: "approved" }) } });
    expect(await asked(h)).toMatchObject({ status: "ok", text: "to x" });
    expect(h.ran).toHaveLength(1);
  });

  it("HIGH tool, handler denies / invoke / denied, tool not run (case 70)", async () => {
    await using h = await runtimeFixture({
      approvals: { approver: answering({ decision: "denied", reason: "no" }) },
    });
    expect(await asked(h)).toMatchObject({
      status: "denied",
      refusal: { code: "approval_denied" },
    });
    expect(h.ran).toEqual([]);
  });

  it("HIGH tool, handler returns SKIPPED / invoke / denied (case 71)", async () => {
    await using h = await runtimeFixture({ approvals: { approver: answering({ decision: "skipped" }) } });
    const outcome = await asked(h);
    expect(outcome).toMatchObject({ status: "denied", refusal: { code: "approval_skipped" } });
    expect(outcome.text).toContain("continue without it");
  });

  it("handler slower than the approval wait of 50 ms / denied with 'timed out' and advice to call directly (case 72)", async () => {
    await using h = await runtimeFixture({
      approvals: { approver: { name: "slow", ask: () => new Promise(() => {}) } },
      limits: { approvalWaitMs: 50 },
    });
    const running = h.runtime.invoke(mail, asker);
    await h.clock.advance(51);
    const outcome = await running;
    expect(outcome.status).toBe("denied");
    expect(outcome.text).toContain("timed out");
    expect(outcome.text).toContain("directly");
    expect(h.ran).toEqual([]);
  });

  it("handler throws / denied, never run, trace written (case 74)", async () => {
    await using h = await runtimeFixture({
      approvals: {
        approver: {
          name: "bad",
          ask: () => {
            throw new Error("no terminal");
          },
        },
      },
    });
    const session = h.runtime.openSession({}, asker);
    const running = session.invoke(mail);
    await h.clock.advance(10);
    expect((await running).status).toBe("denied");
    expect(session.trace).toMatchObject([{ tool: "mail", status: "denied" }]);
    expect(h.ran).toEqual([]);
    expect((await h.runtime.approvals.list())[0]?.decision).toMatchObject({
      as: "denied",
      reason: expect.stringContaining("no terminal"),
    });
  });

  it("SAFE tool with handler / invoke / handler never asked (case 75)", async () => {
    const seen: ApprovalRecord[] = [];
    await using h = await runtimeFixture({
      approvals: { approver: answering({ decision: "denied" }, seen) },
    });
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, asker)).status).toBe("ok");
    expect(seen).toEqual([]);
  });

  it("max_risk_unapproved HIGH: HIGH runs unasked, CRITICAL asks (case 76)", async () => {
    const seen: ApprovalRecord[] = [];
    await using h = await runtimeFixture({
      policy: { maxRiskUnapproved: "high" },
      approvals: { approver: answering({ decision: "approved" }, seen) },
    });
    expect((await asked(h)).status).toBe("ok");
    expect(seen).toEqual([]);
    expect((await asked(h, { tool: "drop", arguments: { to: "x" } })).status).toBe("ok");
    expect(seen).toHaveLength(1);
  });

  it("max_risk_unapproved CRITICAL without explicit opt-in / construct / refused (case 78)", async () => {
    await expect(createRuntime({ policy: { maxRiskUnapproved: "critical" } })).rejects.toMatchObject({
      code: "policy_invalid",
    });
    await expect(createRuntime({ limits: { maxRiskUnapproved: "critical" } })).rejects.toMatchObject({
      code: "policy_invalid",
    });
  });

  it("request seen by handler / call, risk, real agent id, real run id, time; JSON round trip equal (case 79)", async () => {
    const seen: ApprovalRecord[] = [];
    await using h = await runtimeFixture({
      approvals: { approver: answering({ decision: "approved" }, seen) },
    });
    const running = h.runtime.invoke(mail, { ...asker, runId: "run_7" });
    await h.clock.advance(10);
    await running;
    const [request] = seen;
    expect(request).toMatchObject({
      tool: "mail",
      action: "default",
      arguments: { to: "x" },
      risk: "high",
      principal: { agent: "a" },
      runId: "run_7",
      state: "pending",
    });
    expect(request?.key).toMatch(/^call_/);
    expect(request?.requestedAt).toBe(Date.UTC(2026, 10, 20));
    expect(JSON.parse(JSON.stringify(request))).toEqual(request);
  });

  it.each(storeKinds)(
    "handler mutates the request's arguments / execute / original arguments used, with %s (case 80)",
    async (kind) => {
      const approver: Approver = {
        name: "evil",
        ask: async (request) => {
          Reflect.set(request.arguments, "to", "evil");
          Reflect.set(request, "arguments", { to: "evil" });
          return { decision: "approved" };
        },
      };
      await using h = await runtimeFixture({ store: newStore(kind), approvals: { approver } });
      await asked(h);
      expect(h.ran).toEqual([{ to: "x" }]);
    },
  );

  it("AutoApprovalHandler / any risk / APPROVED (case 82)", async () => {
    await using h = await runtimeFixture({ approvals: { approver: autoApprover() } });
    for (const tool of ["mail", "drop"]) expect((await asked(h, { tool, arguments: { to: "x" } })).status).toBe("ok");
  });

  it("policy handler up to HIGH / HIGH approved, CRITICAL denied; decided_by 'policy' and a reason present (case 83)", async () => {
    await using h = await runtimeFixture({ approvals: { approver: policyApprover("high") } });
    expect((await asked(h)).status).toBe("ok");
    expect((await asked(h, { tool: "drop", arguments: { to: "x" } })).status).toBe("denied");
    const decisions = (await h.runtime.approvals.list()).map(({ decision }) => decision);
    expect(decisions).toMatchObject([
      { as: "approved", by: "policy" },
      { as: "denied", by: "policy" },
    ]);
    for (const decision of decisions) expect(decision?.reason).toMatch(/risk/);
  });

  it("denied call / message to the model / an error result stating the denial, so that it can go on (case 85)", async () => {
    await using h = await runtimeFixture({
      approvals: { approver: answering({ decision: "denied", reason: "not on Sundays" }) },
    });
    const session = h.runtime.openSession({}, asker);
    const running = session.invoke(mail);
    await h.clock.advance(10);
    const outcome = await running;
    expect(outcome.content).toEqual([{ type: "text", text: outcome.text }]);
    expect(outcome.text).toMatch(/denied.*not on Sundays/);
    expect((await session.invoke({ tool: "echo", arguments: { to: "x" } })).status).toBe("ok");
  });

  it("bare callback (call) → boolean as handler / true/false / approved/denied (case 86)", async () => {
    await using h = await runtimeFixture({
      approvals: { approver: callbackApprover(({ risk }) => risk === "high") },
    });
    expect((await asked(h)).status).toBe("ok");
    expect((await asked(h, { tool: "drop", arguments: { to: "x" } })).status).toBe("denied");
  });
});
