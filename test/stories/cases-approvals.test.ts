import { describe, expect, it } from "vitest";
import { asker, boss, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const mail = { tool: "mail", arguments: { to: "x" } } as const;

describe("a durable approval", () => {
  it("is stored pending with gate.required when a CONFIRM suspends, and the outcome has its id (case 88)", async () => {
    await using h = await runtimeFixture();
    const outcome = await h.runtime.invoke(mail, asker);
    expect(outcome).toMatchObject({
      status: "pending",
      expiresAt: Date.UTC(2026, 10, 20) + 3_600_000,
    });
    expect(outcome.text).toContain(outcome.approvalId);
    expect((await h.runtime.approvals.get(outcome.approvalId ?? ""))?.state).toBe("pending");
    expect(await eventTypes(h.runtime)).toEqual(["gate.required"]);
  });

  it("has the exact payload, reason, risk, autonomy snapshot, expiry and trace (case 89)", async () => {
    await using h = await runtimeFixture({ autonomy: "A2" });
    const { approvalId = "" } = await h.runtime.invoke(mail, {
      ...asker,
      traceId: "0".repeat(31).concat("7"),
    });
    const row = await h.runtime.approvals.get(approvalId);
    expect(row).toMatchObject({
      arguments: { to: "x" },
      asked: { to: "x" },
      risk: "high",
      autonomy: "A2",
      traceId: "0".repeat(31).concat("7"),
      expiresAt: h.clock.now() + 3_600_000,
    });
    expect(row?.why.length).toBeGreaterThan(0);
    expect(row?.binding).toMatch(/^[0-9a-f]{64}$/);
  });

  it("has a journaled decision: who, when, why, risk, tool; a denial as well (case 99)", async () => {
    await using h = await runtimeFixture();
    for (const [to, decision] of [
      ["x", "approved"],
      ["y", "denied"],
    ] as const) {
      const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to } }, asker);
      await h.runtime.approvals.decide(approvalId, { decision, by: boss, reason: `because ${to}` });
    }
    const events = (await h.runtime.audit.query({ type: "gate." })).filter(({ type }) => type !== "gate.required");
    expect(events).toMatchObject([
      {
        type: "gate.approved",
        decided_by: "boss",
        reason: "because x",
        risk_level: "high",
        tool_name: "mail",
        timestamp: expect.any(String),
      },
      {
        type: "gate.denied",
        decided_by: "boss",
        reason: "because y",
        risk_level: "high",
        tool_name: "mail",
        timestamp: expect.any(String),
      },
    ]);
  });

  it("is not made for a BLOCK: the tool does not run, and gate.blocked is logged (case 136)", async () => {
    await using h = await runtimeFixture({ autonomy: "A2" });
    expect((await h.runtime.invoke({ tool: "drop", arguments: { to: "x" } }, asker)).refusal?.code).toBe("blocked");
    expect(await h.runtime.approvals.list()).toEqual([]);
    expect(h.ran).toEqual([]);
    expect(await eventTypes(h.runtime)).toEqual(["gate.blocked"]);
  });

  it("is not made for an ALLOW (case 137)", async () => {
    await using h = await runtimeFixture({ autonomy: "A4" });
    expect((await h.runtime.invoke(mail, asker)).status).toBe("ok");
    expect(await h.runtime.approvals.list()).toEqual([]);
  });
});

describe("a preview", () => {
  const showing = (preview: () => unknown, keys: string[] = []): NonNullable<Parameters<typeof runtimeFixture>[1]> => [
    {
      name: "pay",
      description: "Pays.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object" },
      preview: ((_given: unknown, context: { idempotencyKey: string }) => {
        keys.push(`preview ${context.idempotencyKey}`);
        return preview();
      }) as never,
      execute: (_given: unknown, context: { idempotencyKey: string }) => {
        keys.push(`execute ${context.idempotencyKey}`);
        return "paid";
      },
    },
  ];

  it("runs once for a PREVIEW, without execute, and the outcome carries it (case 138)", async () => {
    const keys: string[] = [];
    await using h = await runtimeFixture(
      { autonomy: "A0" },
      showing(() => ({ summary: "pays 7", diff: "-7" }), keys),
    );
    const outcome = await h.runtime.invoke({ tool: "pay" }, asker);
    expect(outcome).toMatchObject({
      status: "preview",
      preview: { summary: "pays 7", diff: "-7", supported: true },
    });
    expect(keys).toHaveLength(1);
    expect(await eventTypes(h.runtime)).toEqual(["gate.preview"]);
    await expect(h.runtime.call("pay", "default", {}, asker)).rejects.toMatchObject({
      code: "preview",
    });
  });

  it("that returns null still asks for CONFIRM, and says `unsupported` for PREVIEW (case 139)", async () => {
    await using confirming = await runtimeFixture(
      { autonomy: "A2" },
      showing(() => null),
    );
    const { approvalId = "" } = await confirming.runtime.invoke({ tool: "pay" }, asker);
    expect((await confirming.runtime.approvals.get(approvalId))?.state).toBe("pending");
    await using previewing = await runtimeFixture(
      { autonomy: "A0" },
      showing(() => null),
    );
    const outcome = await previewing.runtime.invoke({ tool: "pay" }, asker);
    expect(outcome).toMatchObject({ status: "preview", preview: { supported: false } });
    expect((await previewing.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, asker)).text).toContain(
      "unsupported",
    );
  });

  it("has the same idempotency_key as the execution after it (case 140)", async () => {
    const keys: string[] = [];
    await using h = await runtimeFixture(
      { autonomy: "A2" },
      showing(() => "pays", keys),
    );
    const { approvalId = "" } = await h.runtime.invoke({ tool: "pay" }, asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.resume(approvalId);
    expect(keys.map((key) => key.split(" ")[0])).toEqual(["preview", "preview", "execute"]); // shown, compared with what was shown, run
    expect(new Set(keys.map((key) => key.split(" ")[1])).size).toBe(1);
  });
});
