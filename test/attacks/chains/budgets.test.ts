/** A script keeps its remaining budget over waits and denials. */
import { expect, it, vi } from "vitest";
import type { ScriptStep } from "../../../packages/core/src/sandbox/sandbox.ts";
import { settled } from "../../../packages/core/src/testing/clock.ts";
import { countHolds } from "../../fakes/artifact-holds.ts";
import { fakeDriver } from "../../fakes/fake-sandbox.ts";
import { asker, boss, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../../fakes/script-fixture.ts";

const fake = { drivers: [fakeDriver()], engines: ["fake"] };

it("the time that a script used before it waited for a person still counts afterwards", async () => {
  const held = Promise.withResolvers<string>();
  const safe = { risk: "safe", effects: "read", idempotent: true } as const;
  const chains = { ...fake, limits: { callTimeoutMs: 250_000 } };
  await using h = await runtimeFixture({ chains }, [
    { ...safe, name: "hold", description: "Takes its time.", execute: () => held.promise },
  ]);
  const code = 'await call("hold", {}); await call("mail", { to: "x" }); await new Promise(() => {});';
  const running = h.runtime.runChain({ code }, asker);
  await settled(60);
  await h.clock.advance(200_000);
  held.resolve("done");
  const { approvalId = "", callId } = await running;
  await h.clock.advance(600_000);
  await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  const resumed = h.runtime.chains?.resume(callId);
  await settled(60);
  await h.clock.advance(90_000);
  expect(await h.runtime.chains?.list()).toMatchObject([{ state: "running" }]);
  await h.clock.advance(20_000);
  expect(resultOf(await resumed)).toMatchObject({ status: "timeout", tool_calls: 2 });
});

it("a call that a person denied while the script was frozen counts once against the budget", async () => {
  await using h = await runtimeFixture({ chains: { ...fake, limits: { maxToolCalls: 2 } } });
  const code = `const codes = [];
    for (const tool of ["mail", "echo", "echo"]) try { await call(tool, { to: "x" }); codes.push("ok"); } catch (error) { codes.push(error.code); }
    return codes.join();`;
  const { approvalId = "", callId } = await h.runtime.runChain({ code }, asker);
  await h.runtime.approvals.decide(approvalId, { decision: "denied", by: boss, reason: "no" });
  const outcome = await h.runtime.chains?.resume(callId);
  expect(resultOf(outcome)["output_text"]).toBe("approval_denied,ok,budget_exhausted");
});

it.each(["return r.text.length;", 'throw new Error("boom");', "await new Promise(() => {});"])(
  "nothing holds the results of a script's calls when the script has ended: %s",
  async (ending) => {
    const safe = { risk: "safe", effects: "read", idempotent: true } as const;
    await using h = await runtimeFixture({ chains: fake }, [
      { ...safe, name: "report", description: "Says much.", execute: () => "much ".repeat(5_000) },
    ]);
    const held = countHolds(h.runtime);
    const running = h.runtime.runChain({ code: `const r = await call("report", {}); ${ending}`, timeout: 5 }, asker);
    await expect.poll(() => vi.mocked(h.runtime.artifacts.put).mock.calls.length).toBe(1);
    await settled(60);
    await h.clock.advance(6_000);
    await running;
    expect(held()).toBe(0);
  },
);

it("an engine that waits for nothing is ended, and is not asked endlessly", async () => {
  let steps = 0;
  const step = (): ScriptStep => {
    steps += 1;
    if (steps > 100) throw new Error("asked for ever");
    return { step: "calls", calls: [] };
  };
  await using h = await scriptFixture({}, fakeDriver({ step }));
  const outcome = await h.runtime.runChain({ code: "return 1;" }, asker);
  expect(resultOf(outcome)).toMatchObject({ status: "error", error_kind: "deadlock" });
  expect(steps).toBe(1);
});
