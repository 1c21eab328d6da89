import { expect, it } from "vitest";
import { probe } from "../../../../test/fakes/probe.ts";
import { asker, runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";

const policy = { rules: [{ effect: "allow", tool: "probe" }] } as const;
const forever = (): Promise<never> => new Promise(() => {});

it.each([
  ["safe", "read", false, "timed_out", "failed"],
  ["high", "read", false, "timed_out", "failed"],
  ["safe", "write", true, "timed_out", "failed"],
  ["medium", "write", true, "timed_out", "failed"],
  ["safe", "write", false, "outcome_unknown", "unknown"],
  ["safe", "destructive", false, "outcome_unknown", "unknown"],
  ["medium", "write", false, "outcome_unknown", "unknown"],
] as const)("a %s call with effect %s, idempotent %s, that times out: %s (D6)", async (...given) => {
  const [risk, effects, idempotent, code, state] = given;
  await using h = await runtimeFixture(
    { autonomy: "A4", limits: { callTimeoutMs: 50, approvalWaitMs: 10 }, policy },
    probe({ risk, idempotent, effects, execute: forever }),
  );
  const running = h.runtime.invoke({ tool: "probe" }, { ...asker, idempotencyKey: "k" });
  await h.clock.advance(51);
  expect(await running).toMatchObject({ status: "error", refusal: { code, retry: "same-key" } });
  const [record] = await h.runtime.calls.list({ tool: "probe" });
  expect(record).toMatchObject({ state, retryable: state === "failed" });
  // What did no harm may be made again; of the other nobody knows, and an operator must say.
  const again = h.runtime.invoke({ tool: "probe" }, { ...asker, idempotencyKey: "k" });
  await h.clock.advance(51);
  expect(await again).toMatchObject({ refusal: { code } });
  expect((await h.runtime.audit.query({ type: "tool_call.attempted" })).length).toBe(state === "failed" ? 2 : 1);
});
