import { describe, expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { asker, boss, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../fakes/script-fixture.ts";

describe("a script that needs a person", () => {
  const code = `const a = await call("echo", { to: "first" });
    const b = await call("mail", { to: a.text });
    const c = await call("echo", { to: "last" });
    return [b.text, c.text];`;

  it("freezes, frees the process, and continues where it was when it is sent again", async () => {
    const how: string[] = [];
    await using h = await scriptFixture({}, fakeDriver({ started: (which) => void how.push(which) }));
    const pending = await h.runtime.runChain({ code }, asker);
    expect(pending).toMatchObject({ status: "pending", approvalId: expect.stringMatching(/^apr_/) });
    expect(await h.runtime.chains?.list()).toMatchObject([
      {
        state: "waiting",
        callId: pending.callId,
        waiting: [{ tool: "mail", line: 2, approvalId: pending.approvalId }],
      },
    ]);
    const still = await h.runtime.runChain({ code }, asker);
    expect(still).toMatchObject({ status: "pending", approvalId: pending.approvalId });
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    expect(h.ran).toEqual([{ to: "first" }]);
    const done = await h.runtime.runChain({ code }, asker);
    expect(resultOf(done)).toMatchObject({ status: "ok", tool_calls: 3, output_text: '["to to first","to last"]' });
    expect(h.ran.map(({ to }) => to)).toEqual(["first", "to first", "last"]);
    expect(how).toEqual(["start", "restore", "restore"]);
    const again = await h.runtime.runChain({ code }, asker);
    expect(again).toMatchObject({ status: "ok", replayed: true });
    expect(h.ran).toHaveLength(3);
    expect(await h.runtime.chains?.list()).toEqual([]);
  });

  it.each([
    ["soon", "late"],
    ["late", "soon"],
  ])("waits as long as all its requests are open: %s, then %s", async (...asked) => {
    const wait = (name: string, approvalTtlMs: number): Parameters<typeof runtimeFixture>[1] => [
      {
        name,
        description: "Waits.",
        risk: "high",
        effects: "write",
        idempotent: false,
        approvalTtlMs,
        execute: () => name,
      },
    ];
    const driver = fakeDriver();
    const options = { chains: { drivers: [driver], engines: [driver.name] } };
    await using h = await runtimeFixture(options, [...(wait("soon", 60_000) ?? []), ...(wait("late", 600_000) ?? [])]);
    const calls = asked.map((name) => `call("${name}", {})`).join();
    const { expiresAt } = await h.runtime.runChain({ code: `await Promise.all([${calls}]);` }, asker);
    expect(expiresAt).toBe(h.clock.now() + 60_000);
  });

  it("continues when it is resumed by the approval or by the script's id", async () => {
    await using h = await scriptFixture();
    for (const by of ["approval", "id"] as const) {
      const one = await h.runtime.runChain({ code }, { ...asker, idempotencyKey: by });
      await h.runtime.approvals.decide(one.approvalId ?? "", { decision: "approved", by: boss });
      const done =
        by === "approval" ? await h.runtime.resume(one.approvalId ?? "") : await h.runtime.chains?.resume(one.callId);
      expect(resultOf(done ?? {})).toMatchObject({ status: "ok", tool_calls: 3 });
      expect(await h.runtime.resume(one.approvalId ?? "")).toMatchObject({ text: done?.text, replayed: true });
    }
    expect(h.ran).toHaveLength(6);
    expect(await h.runtime.chains?.resume("call_none")).toBeUndefined();
  });

  it("gets a denial, a skip and an expiry as exceptions, however late it continues", async () => {
    const catching = 'try { await call("mail", { to: "x" }); } catch (error) { return error.code; }';
    for (const decision of ["denied", "skipped", "expired"] as const) {
      await using h = await scriptFixture();
      const pending = await h.runtime.runChain({ code: catching }, asker);
      if (decision !== "expired") await h.runtime.approvals.decide(pending.approvalId ?? "", { decision, by: boss });
      await h.clock.advance(5 * 24 * 3_600_000);
      const done = await h.runtime.runChain({ code: catching }, asker);
      expect(resultOf(done)["output_text"]).toBe(`approval_${decision}`);
      expect(h.ran).toEqual([]);
      expect(await h.runtime.approvals.list()).toHaveLength(1);
    }
  });

  it("runs the approver's edit", async () => {
    await using h = await scriptFixture();
    const pending = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", {
      decision: "modified",
      arguments: { to: "edited" },
      by: boss,
    });
    expect(resultOf(await h.runtime.runChain({ code }, asker))["output_text"]).toBe('["to edited","to last"]');
  });

  it("keeps its budget over days of waiting, which do not count as time", async () => {
    await using h = await scriptFixture({ approvals: { patience: "suspend", ttlMs: 30 * 24 * 3_600_000 } });
    const long = `for (let n = 0; n < 30; n += 1) await call("echo", { to: "a" + n });
      await call("mail", { to: "x" });
      let ran = 0;
      try { for (let n = 0; n < 30; n += 1) { await call("echo", { to: "b" + n }); ran += 1; } } catch (error) { return error.code + ran; }`;
    const pending = await h.runtime.runChain({ code: long }, asker);
    await h.runtime.runChain({ code: long }, asker);
    await h.clock.advance(9 * 24 * 3_600_000);
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    const done = await h.runtime.runChain({ code: long }, asker);
    expect(done.text).toMatch(/^budget_exhausted19\n\[chain: 51 tool calls/);
    expect(h.ran).toHaveLength(50);
  });

  it("of a batch does not repeat finished calls after the wait", async () => {
    await using h = await scriptFixture();
    const batch = `const all = await Promise.all([call("echo", { to: "1" }), call("mail", { to: "2" }), call("mail", { to: "3" })]);
      return all.map((one) => one.text).join();`;
    const first = await h.runtime.runChain({ code: batch }, asker);
    await h.runtime.approvals.decide(first.approvalId ?? "", { decision: "approved", by: boss });
    const second = await h.runtime.runChain({ code: batch }, asker);
    expect(second.status).toBe("pending");
    expect(second.approvalId).not.toBe(first.approvalId);
    await h.runtime.approvals.decide(second.approvalId ?? "", { decision: "approved", by: boss });
    const done = await h.runtime.runChain({ code: batch }, asker);
    expect(resultOf(done)).toMatchObject({ output_text: "to 1,to 2,to 3", tool_calls: 3 });
    expect(h.ran).toHaveLength(3);
  });

  it("is replayed over its calls if its engine cannot freeze it", async () => {
    await using h = await scriptFixture({}, fakeDriver({ durability: "replay" }));
    const pending = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ status: "ok", tool_calls: 3 });
    expect(h.ran).toHaveLength(3);
  });

  it("ends if it does not repeat itself, and nothing happens twice", async () => {
    await using h = await scriptFixture({}, fakeDriver({ durability: "replay" }));
    const chance = `globalThis.turn = (globalThis.turn ?? 0) + 1;
      await call("echo", { to: "t" + globalThis.turn });
      await call("mail", { to: "x" });`;
    const pending = await h.runtime.runChain({ code: chance }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    const done = await h.runtime.runChain({ code: chance }, asker);
    expect(resultOf(done)).toMatchObject({ status: "error", error_kind: "diverged" });
    expect(h.ran).toEqual([{ to: "t1" }]);
  });

  it("diverges if another tool is in the same place", async () => {
    await using h = await scriptFixture({}, fakeDriver({ durability: "replay" }));
    const chance = `globalThis.other = (globalThis.other ?? 0) + 1;
      if (globalThis.other === 2) await call("echo", { to: "new" });
      await call("mail", { to: "x" });`;
    const pending = await h.runtime.runChain({ code: chance }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    const done = await h.runtime.runChain({ code: chance }, asker);
    expect(resultOf(done)).toMatchObject({ error_kind: "diverged" });
    expect(h.ran).toEqual([]);
  });

  it("waits inside with patience `wait`, as long as a script may wait for a person", async () => {
    await using h = await scriptFixture({ approvals: { patience: "wait" } });
    const running = h.runtime.runChain({ code }, asker);
    await settled(100);
    const [asked] = await h.runtime.approvals.list({ state: "pending" });
    await h.runtime.approvals.decide(asked?.id ?? "", { decision: "approved", by: boss });
    expect(resultOf(await running)).toMatchObject({ status: "ok", tool_calls: 3 });
    const unheard = h.runtime.runChain({ code: 'try { await call("mail", { to: "y" }) } catch (e) { return e.code }' });
    await settled(100);
    await h.clock.advance(56_000);
    expect(resultOf(await unheard)["output_text"]).toBe("approval_timed_out");
  });

  it("holds the connection for a while first if its caller can come back, then freezes", async () => {
    await using h = await scriptFixture();
    const running = h.runtime.runChain({ code }, { ...asker, approvalWaitMs: 20_000 });
    await settled(100);
    expect(await h.runtime.chains?.list()).toMatchObject([{ state: "running" }]);
    await h.clock.advance(21_000);
    const pending = await running;
    expect(pending).toMatchObject({ status: "pending", approvalId: expect.stringMatching(/^apr_/) });
    const held = h.runtime.runChain({ code }, { ...asker, approvalWaitMs: 20_000 });
    await settled(100);
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    expect(resultOf(await held)).toMatchObject({ status: "ok", tool_calls: 3 });
    expect(h.ran).toHaveLength(3);
  });

  it("moves to the next engine if the first cannot run it, and finds the finished calls there", async () => {
    const first = fakeDriver({
      name: "half",
      step: (step) =>
        step.step === "done" ? { step: "failed", why: "unsupported", message: "no classes here" } : step,
    });
    const drivers = [first, fakeDriver({ name: "whole" })];
    await using h = await runtimeFixture({ autonomy: "A4", chains: { drivers, engines: ["half", "whole"] } });
    const done = await h.runtime.runChain({ code: 'await call("mail", { to: "x" }); return 7;' }, asker);
    expect(resultOf(done)).toMatchObject({ status: "ok", engine: "whole", output_text: "7", tool_calls: 1 });
    expect(h.ran).toHaveLength(1);
    expect(await eventTypes(h.runtime)).toContain("tool_call.deduped");
  });
});
