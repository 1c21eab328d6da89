import { describe, expect, it } from "vitest";
import { actor } from "../fakes/actors.ts";
import { asker, boss, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const with1 = { ...asker, idempotencyKey: "k1" };

describe("an idempotency key", () => {
  it("runs once for a repeated request, logs tool_call.deduped and gives the same result (case 156)", async () => {
    await using h = await runtimeFixture();
    const first = await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, with1);
    const again = await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, with1);
    expect(again).toMatchObject({ status: "ok", text: first.text, replayed: true });
    expect(h.ran).toHaveLength(1);
    const events = await h.runtime.audit.query({ type: "tool_call.deduped" });
    expect(events).toMatchObject([{ outcome: "suppressed" }]);
  });

  it("accepts another order of arguments, and refuses a changed value as a conflict (case 168)", async () => {
    await using h = await runtimeFixture();
    await h.runtime.invoke({ tool: "echo", arguments: { slow: false, to: "x" } }, with1);
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "x", slow: false } }, with1)).replayed).toBe(true);
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "y" } }, with1)).refusal?.code).toBe(
      "idempotency_conflict",
    );
  });

  it("of one principal does not apply to another", async () => {
    await using h = await runtimeFixture();
    await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, with1);
    const other = await h.runtime.invoke(
      { tool: "echo", arguments: { to: "x" } },
      { principal: { tenant: "default", agent: "b" }, idempotencyKey: "k1" },
    );
    expect(other.replayed).toBeUndefined();
    expect(h.ran).toHaveLength(2);
  });

  it("runs once for 100 callers at once", async () => {
    await using h = await runtimeFixture();
    const all = await Promise.all(
      Array.from({ length: 100 }, () => h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, with1)),
    );
    expect(h.ran).toHaveLength(1);
    expect(all.filter(({ status, replayed }) => status === "ok" && replayed === undefined)).toHaveLength(1);
    expect(all.every(({ status, refusal }) => status === "ok" || refusal?.code === "in_progress")).toBe(true);
  });

  it("is required if a tool needs it for effects (case 157)", async () => {
    await using h = await runtimeFixture({ autonomy: "A4" }, [
      {
        name: "pay",
        description: "Pays.",
        risk: "high",
        effects: "write",
        idempotent: false,
        requireIdempotencyKey: true,
        input: { type: "object" },
        execute: async () => "paid",
      },
    ]);
    expect((await h.runtime.invoke({ tool: "pay" }, asker)).refusal?.code).toBe("key_required");
    expect((await h.runtime.invoke({ tool: "pay" }, with1)).status).toBe("ok");
  });

  it("replays a finished call at A1 without a second question (case 171)", async () => {
    await using h = await runtimeFixture({ autonomy: "A1" });
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, with1);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect((await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, with1)).status).toBe("ok");
    await h.clock.advance(10_000_000);
    expect((await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, with1)).replayed).toBe(true);
    expect(await h.runtime.approvals.list({ state: "pending" })).toHaveLength(0);
  });
});

describe("a failure", () => {
  const failing = (name: string, error: () => unknown): NonNullable<Parameters<typeof runtimeFixture>[1]> => {
    return [
      {
        name,
        description: "Fails.",
        risk: "medium",
        effects: "write",
        idempotent: false,
        input: { type: "object" },
        execute: () => {
          throw error();
        },
      },
    ];
  };

  it("that may be retried runs again under the same key (case 159)", async () => {
    let tries = 0;
    await using h = await runtimeFixture(
      { autonomy: "A4" },
      failing("flaky", () => {
        tries += 1;
        return Object.assign(new Error("busy"), { retryable: true });
      }),
    );
    const first = await h.runtime.invoke({ tool: "flaky" }, with1);
    expect(first.refusal?.retry).toBe("later");
    await h.runtime.invoke({ tool: "flaky" }, with1);
    expect(tries).toBe(2);
    expect((await eventTypes(h.runtime)).filter((type) => type === "tool_call.failed")).toHaveLength(2);
  });

  it("that is final is replayed, not run again (case 160)", async () => {
    let tries = 0;
    await using h = await runtimeFixture(
      { autonomy: "A4" },
      failing("final", () => {
        tries += 1;
        return new Error("no such account");
      }),
    );
    await h.runtime.invoke({ tool: "final" }, with1);
    expect((await h.runtime.invoke({ tool: "final" }, with1)).replayed).toBe(true);
    expect(tries).toBe(1);
  });

  it("in transport is unknown: no success, no plain failure, no retry before it is settled (cases 158, 170)", async () => {
    let tries = 0;
    await using h = await runtimeFixture(
      { autonomy: "A4" },
      failing("wire", () => {
        tries += 1;
        return Object.assign(new Error("reset"), { unknown: true });
      }),
    );
    const lost = await h.runtime.invoke({ tool: "wire" }, asker);
    expect(lost.refusal?.code).toBe("outcome_unknown");
    expect(await eventTypes(h.runtime)).toContain("tool_call.unknown");
    expect((await h.runtime.invoke({ tool: "wire" }, asker)).refusal?.code).toBe("outcome_unknown");
    expect(tries).toBe(1);
    const settled = await h.runtime.ledger.settle(lost.callId, "retry", "the bank says it never came", actor("boss"));
    expect(settled.settled).toBe(true);
    await h.runtime.invoke({ tool: "wire" }, asker);
    expect(tries).toBe(2);
    expect(await eventTypes(h.runtime)).toContain("operator.call_settled");
  });

  it("settled as succeeded is replayed so; a second settlement is refused", async () => {
    await using h = await runtimeFixture(
      { autonomy: "A4" },
      failing("wire", () => Object.assign(new Error("reset"), { unknown: true })),
    );
    const lost = await h.runtime.invoke({ tool: "wire" }, with1);
    expect((await h.runtime.ledger.settle(lost.callId, "succeeded", "seen in the books", actor("boss"))).settled).toBe(
      true,
    );
    expect(await h.runtime.invoke({ tool: "wire" }, with1)).toMatchObject({ status: "ok", replayed: true });
    expect(await h.runtime.ledger.settle(lost.callId, "failed", "again", actor("boss"))).toMatchObject({
      settled: false,
      why: "not_unknown",
    });
    expect(await h.runtime.ledger.settle("call_none", "failed", "x", actor("boss"))).toMatchObject({
      settled: false,
      why: "call_unknown",
    });
  });

  it("is reconciled by the tool's own hook (case 170)", async () => {
    await using h = await runtimeFixture({ autonomy: "A4" }, [
      {
        ...failing("wire", () => Object.assign(new Error("reset"), { unknown: true }))[0],
        reconcile: async () => ({ found: "succeeded" }),
      } as never,
    ]);
    const lost = await h.runtime.invoke({ tool: "wire" }, with1);
    expect((await h.runtime.ledger.reconcile(lost.callId)).settled).toBe(true);
    expect((await h.runtime.invoke({ tool: "wire" }, with1)).status).toBe("ok");
  });

  it("by timeout of an effect is unknown; the trace says timeout", async () => {
    await using h = await runtimeFixture({ autonomy: "A4" }, [
      {
        name: "slow",
        description: "Slow.",
        risk: "high",
        effects: "write",
        idempotent: false,
        timeoutMs: 100,
        input: { type: "object" },
        execute: () => new Promise(() => {}),
      },
    ]);
    const session = h.runtime.openSession({}, asker);
    const running = session.invoke({ tool: "slow" });
    await h.clock.advance(101);
    expect((await running).refusal?.code).toBe("outcome_unknown");
    expect(session.trace[0]?.status).toBe("timeout");
  });
});
