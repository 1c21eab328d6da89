import { describe, expect, it } from "vitest";
import { actor } from "../fakes/actors.ts";
import { asker, boss, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const mail = (to: string): { tool: string; arguments: { to: string } } => ({ tool: "mail", arguments: { to } });

describe("an approval", () => {
  it("is used once, however often it is resumed", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "", status } = await h.runtime.invoke(mail("x"), asker);
    expect(status).toBe("pending");
    expect((await h.runtime.resume(approvalId))?.status).toBe("pending");
    expect((await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss })).decided).toBe(true);
    const all = await Promise.all([1, 2, 3].map(() => h.runtime.resume(approvalId)));
    expect(h.ran).toHaveLength(1);
    const ends = all.map((outcome) => outcome?.refusal?.code ?? outcome?.status);
    expect(ends).toContain("ok");
    expect(["ok", "in_progress"]).toEqual(expect.arrayContaining(ends)); // one that comes later gets the outcome
    expect((await h.runtime.resume(approvalId))?.replayed).toBe(true);
    expect(h.ran).toHaveLength(1);
  });

  it("is found by the same call sent again: it runs once, then replays during the approval's lifetime", async () => {
    await using h = await runtimeFixture();
    const first = await h.runtime.invoke({ tool: "mail", arguments: { to: "x", slow: false } }, asker);
    const second = await h.runtime.invoke({ tool: "mail", arguments: { slow: false, to: "x" } }, asker);
    expect(second.approvalId).toBe(first.approvalId);
    await h.runtime.approvals.decide(first.approvalId ?? "", { decision: "approved", by: boss });
    const ran = await h.runtime.invoke({ tool: "mail", arguments: { to: "x", slow: false } }, asker);
    expect(ran).toMatchObject({ status: "ok", text: "to x" });
    expect(ran.replayed).toBeUndefined();
    expect(await h.runtime.invoke({ tool: "mail", arguments: { to: "x", slow: false } }, asker)).toMatchObject({
      status: "ok",
      replayed: true,
    });
    expect(h.ran).toHaveLength(1);
    await h.clock.advance(3_600_001);
    expect((await h.runtime.invoke({ tool: "mail", arguments: { to: "x", slow: false } }, asker)).status).toBe(
      "pending",
    );
    expect(h.ran).toHaveLength(1);
  });

  it("of a medium tool at A1 logs gate.required, gate.approved, attempted, succeeded in one trace (case 142)", async () => {
    await using h = await runtimeFixture({ autonomy: "A1" });
    const session = h.runtime.openSession({}, asker);
    const { approvalId = "" } = await session.invoke(mail("x"));
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect((await session.invoke(mail("x"))).status).toBe("ok");
    expect(await eventTypes(h.runtime, session.traceId)).toEqual([
      "gate.required",
      "gate.approved",
      "tool_call.attempted",
      "tool_call.succeeded",
    ]);
  });

  it("with edited arguments runs those, and they pass the gates when edited and when run (cases 95, 96)", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    const decide = h.runtime.approvals.decide.bind(h.runtime.approvals);
    expect(await decide(approvalId, { decision: "modified", by: boss })).toMatchObject({
      decided: false,
      code: "decision_invalid",
    });
    expect(await decide(approvalId, { decision: "approved", by: boss, arguments: { to: "z" } })).toMatchObject({
      code: "decision_invalid",
    });
    expect(await decide(approvalId, { decision: "modified", by: boss, arguments: { to: 7 } })).toMatchObject({
      code: "edit_refused",
    });
    expect((await decide(approvalId, { decision: "modified", by: boss, arguments: { to: "z" } })).decided).toBe(true);
    expect(await h.runtime.invoke(mail("x"), asker)).toMatchObject({ status: "ok", text: "to z" });
    expect(h.ran).toEqual([{ to: "z" }]);
    expect((await h.runtime.invoke(mail("x"), asker)).replayed).toBe(true);
  });

  it("does not run a call that a rule blocked meanwhile, for a waiting caller too (case 104)", async () => {
    await using h = await runtimeFixture({ autonomy: "A2" });
    const waiting = h.runtime.invoke(mail("x"), { ...asker, patience: "wait" });
    await h.clock.advance(1);
    const [approval] = await h.runtime.approvals.list({ state: "pending" });
    await h.runtime.controls.setAutonomy("A0", actor("operator"));
    await h.runtime.approvals.decide(approval?.id ?? "", { decision: "approved", by: boss });
    expect((await waiting).status).toBe("preview");
    expect(h.ran).toHaveLength(0);
  });

  it("cannot be decided by the credential that asked", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    const own = await h.runtime.approvals.decide(approvalId, {
      decision: "approved",
      by: { user: "somebody", via: "token:agent" },
    });
    expect(own).toMatchObject({ decided: false, code: "decider_not_allowed" });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });

  it("decided twice: the second is a conflict; an unknown id is unknown (case 93)", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect(await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss })).toMatchObject({
      code: "approval_decided",
    });
    expect(await h.runtime.approvals.decide("apr_none", { decision: "approved", by: boss })).toMatchObject({
      code: "approval_unknown",
    });
    expect(h.ran).toHaveLength(0);
  });

  it("that is denied asked one person and ends each arrival once, however many (cases 70, 85, 91)", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.runtime.approvals.decide(approvalId, { decision: "denied", by: boss, reason: "not today" });
    for (let i = 0; i < 3; i += 1) {
      const again = await h.runtime.invoke(mail("x"), asker);
      expect(again).toMatchObject({ status: "denied", refusal: { code: "approval_denied" }, replayed: true });
      expect(again.text).toContain("not today");
    }
    expect(h.ran).toHaveLength(0);
    expect(await eventTypes(h.runtime)).toEqual([
      "gate.required",
      "gate.denied",
      "tool_call.deduped",
      "tool_call.deduped",
      "tool_call.deduped",
    ]);
  });

  it("expires by itself: it cannot be decided or resumed, and a new call asks again", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", ttlMs: 1000 } });
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.clock.advance(1001);
    expect(await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss })).toMatchObject({
      code: "approval_expired",
    });
    expect((await h.runtime.resume(approvalId))?.refusal?.code).toBe("approval_expired");
    const next = await h.runtime.invoke(mail("x"), asker);
    expect(next.status).toBe("pending");
    expect(next.approvalId).not.toBe(approvalId);
    expect(await eventTypes(h.runtime)).toContain("gate.expired");
  });

  it("decided in time but used too late is not used", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", ttlMs: 1000 } });
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.clock.advance(1001);
    expect((await h.runtime.resume(approvalId))?.refusal?.code).toBe("approval_expired");
    expect(h.ran).toHaveLength(0);
  });

  it("withdrawn by its requester is gone", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    expect((await h.runtime.approvals.withdraw(approvalId, { user: "asker" })).decided).toBe(true);
    expect(await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss })).toMatchObject({
      code: "approval_decided",
    });
    const next = await h.runtime.invoke(mail("x"), asker);
    expect(next.approvalId).not.toBe(approvalId);
  });

  it("is waited for no longer than the caller waits; the request stays open (cases 72, 98)", async () => {
    await using h = await runtimeFixture();
    const waiting = h.runtime.invoke(mail("x"), { ...asker, patience: "wait", approvalWaitMs: 50 });
    await h.clock.advance(51);
    const outcome = await waiting;
    expect(outcome).toMatchObject({ status: "denied", refusal: { code: "approval_timed_out" } });
    expect(outcome.text).toContain("timed out");
    expect(await h.runtime.approvals.list({ state: "pending" })).toHaveLength(1);
  });

  it("lets a waiting caller continue when it is approved", async () => {
    await using h = await runtimeFixture();
    const waiting = h.runtime.invoke(mail("x"), { ...asker, patience: "wait" });
    await h.clock.advance(5);
    const [approval] = await h.runtime.approvals.list({ state: "pending" });
    await h.runtime.approvals.decide(approval?.id ?? "", { decision: "approved", by: boss });
    expect(await waiting).toMatchObject({ text: "to x", status: "ok" });
  });

  it("leaves one pending request of two in the list after a decision (case 105)", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.runtime.invoke(mail("y"), asker);
    await h.runtime.approvals.decide(approvalId, { decision: "skipped", by: boss });
    expect(await h.runtime.approvals.list({ state: "pending" })).toHaveLength(1);
    expect((await h.runtime.invoke(mail("x"), asker)).refusal?.code).toBe("approval_skipped");
  });
});
