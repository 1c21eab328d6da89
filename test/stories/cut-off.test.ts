import { describe, expect, it } from "vitest";
import { probe } from "../fakes/probe.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const keyed = { ...asker, idempotencyKey: "k" };

/** Ways in which the end of a tool stays unknown, each as an error of the tool. */
const lost = [
  ["says so", { unknown: true }],
  ["loses its connection", { code: "ECONNRESET" }],
  ["has a cause that is a lost connection", { cause: { code: "UND_ERR_SOCKET" } }],
] as const;

describe("a safe tool that writes and is not idempotent", () => {
  it.each(lost)("is unknown, and is not run again, when it %s", async (_, error) => {
    let runs = 0;
    const execute = (): never => {
      runs += 1;
      throw Object.assign(new Error("gone"), error);
    };
    await using h = await runtimeFixture({}, probe({ effects: "write", idempotent: false, execute }));
    const first = await h.runtime.invoke({ tool: "probe" }, keyed);
    expect(first.refusal?.code).toBe("outcome_unknown");
    expect((await h.runtime.calls.get(first.callId))?.state).toBe("unknown");
    expect((await h.runtime.invoke({ tool: "probe" }, keyed)).refusal?.code).toBe("outcome_unknown");
    expect((await h.runtime.invoke({ tool: "probe" }, asker)).refusal?.code).toBe("outcome_unknown");
    expect(runs).toBe(1);
  });

  it("is unknown when its caller cancels it", async () => {
    const execute = (): Promise<never> => new Promise(() => {});
    await using h = await runtimeFixture({}, probe({ effects: "write", idempotent: false, execute }));
    const controller = new AbortController();
    const calling = h.runtime.invoke({ tool: "probe" }, { ...keyed, signal: controller.signal });
    await expect.poll(async () => (await h.runtime.calls.list({ state: "attempted" })).length).toBe(1);
    controller.abort(new Error("enough"));
    await expect(calling).rejects.toThrow("enough");
    expect(await h.runtime.calls.list({ tool: "probe" })).toMatchObject([{ state: "unknown", retryable: false }]);
  });
});

describe("an idempotent tool that is cut off", () => {
  it.each(lost)("can run again with the same key, and says so, when it %s", async (_, error) => {
    let runs = 0;
    const execute = (): string => {
      runs += 1;
      if (runs === 1) throw Object.assign(new Error("gone"), error);
      return "done";
    };
    await using h = await runtimeFixture({ autonomy: "A4" }, probe({ risk: "high", effects: "write", execute }));
    const first = await h.runtime.invoke({ tool: "probe" }, keyed);
    expect(first.refusal).toMatchObject({ code: "tool_failed", retry: "same-key" });
    expect(await h.runtime.invoke({ tool: "probe" }, keyed)).toMatchObject({ status: "ok", text: "done" });
  });

  it("says `later` when it also asks for a later try", async () => {
    const execute = (): never => {
      throw Object.assign(new Error("busy"), { unknown: true, retryable: true });
    };
    await using h = await runtimeFixture({ autonomy: "A4" }, probe({ risk: "high", effects: "write", execute }));
    expect((await h.runtime.invoke({ tool: "probe" }, keyed)).refusal).toMatchObject({ retry: "later" });
  });
});

it("a high-risk, not idempotent tool that only reads runs again with the same key", async () => {
  let runs = 0;
  const execute = (): string => {
    runs += 1;
    if (runs === 1) throw Object.assign(new Error("gone"), { unknown: true });
    return "read";
  };
  await using h = await runtimeFixture(
    { autonomy: "A4" },
    probe({ risk: "high", effects: "read", idempotent: false, execute }),
  );
  expect((await h.runtime.invoke({ tool: "probe" }, keyed)).refusal?.retry).toBe("same-key");
  expect((await h.runtime.invoke({ tool: "probe" }, keyed)).text).toBe("read");
});
