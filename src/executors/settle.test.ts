import { expect, it } from "vitest";
import { asker, house } from "../../test/fakes/house.ts";
import { probe } from "../../test/fakes/probe.ts";

const forever = (): Promise<never> => new Promise(() => {});

it.each([
  ["safe and not idempotent", "safe", false, "timed_out", "failed"],
  ["safe and idempotent", "safe", true, "timed_out", "failed"],
  ["riskier and idempotent", "medium", true, "timed_out", "failed"],
  ["riskier and not idempotent", "medium", false, "outcome_unknown", "unknown"],
] as const)(
  "a call that is %s and times out / %s risk, idempotent %s: %s, its row is %s (D6)",
  async (_what, risk, idempotent, code, state) => {
    await using h = await house(
      { autonomy: "A4", limits: { callTimeoutMs: 50, approvalWaitMs: 10 } },
      probe({ risk, idempotent, effects: "write", execute: forever }),
    );
    const running = h.runtime.invoke({ tool: "probe" }, { ...asker, idempotencyKey: "k" });
    await h.clock.advance(51);
    expect(await running).toMatchObject({ status: "error", refusal: { code } });
    const [record] = await h.runtime.calls.list({ tool: "probe" });
    expect(record).toMatchObject({ state, retryable: state === "failed" });
    // What did no harm may be made again; of the other nobody knows, and an operator must say.
    const again = h.runtime.invoke({ tool: "probe" }, { ...asker, idempotencyKey: "k" });
    await h.clock.advance(51);
    expect(await again).toMatchObject({ refusal: { code } });
    expect((await h.runtime.audit.query({ type: "tool_call.attempted" })).length).toBe(state === "failed" ? 2 : 1);
  },
);
