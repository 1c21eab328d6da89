import { describe, expect, it } from "vitest";
import { checkedLimits } from "../../packages/postern/src/call/session.ts";
import { chainLimits, createRuntime, directLimits, type ToolOutcome } from "../../packages/postern/src/index.ts";
import { legacyTool } from "../../packages/postern/src/tools/index.ts";
import { probe } from "../fakes/probe.ts";
import { asker, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } } as const;

describe("the invoker", () => {
  it("returns status error with the tool's text if the tool returns is_error (case 45)", async () => {
    await using h = await runtimeFixture(
      {},
      probe({
        execute: () => ({ content: [{ type: "text", text: "no such city" }], isError: true }),
      }),
    );
    expect(await h.runtime.invoke({ tool: "probe" }, asker)).toMatchObject({
      status: "error",
      text: "no such city",
    });
  });

  it("aborts the tool's signal when the caller cancels (case 52)", async () => {
    let signal: AbortSignal | undefined;
    await using h = await runtimeFixture(
      {},
      probe({
        execute: (_given: unknown, context) => {
          ({ signal } = context);
          return new Promise(() => {});
        },
      }),
    );
    const stop = new AbortController();
    const running = h.runtime.invoke({ tool: "probe" }, { ...asker, signal: stop.signal });
    await h.clock.advance(1);
    stop.abort(new Error("gone"));
    await expect(running).rejects.toThrow("gone");
    expect(signal?.aborted).toBe(true);
  });

  it("informs the model of invalid arguments, runs nothing, and runs its next valid call once (case 54)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, asker);
    expect(await session.invoke({ tool: "echo", arguments: "{to:" as never })).toMatchObject({
      status: "error",
      refusal: { code: "arguments_invalid", retry: "changed" },
    });
    expect(h.ran).toEqual([]);
    expect((await session.invoke(echo)).status).toBe("ok");
    expect(h.ran).toHaveLength(1);
  });

  it("fails an unavailable tool fast and audited, without a call of execute (case 31)", async () => {
    await using h = await runtimeFixture();
    h.runtime.tools.updateHealth("echo", { status: "unavailable", lastError: "gone" });
    expect((await h.runtime.invoke(echo, asker)).refusal?.code).toBe("tool_unavailable");
    expect(h.ran).toEqual([]);
    expect(await eventTypes(h.runtime)).toEqual(["tool_call.refused"]);
  });
});

describe("budgets and sessions", () => {
  it("a script's limits are 50, 60, 55, 300, 4096, SAFE (case 58)", () => {
    expect(chainLimits).toEqual({
      maxToolCalls: 50,
      callTimeoutMs: 60_000,
      approvalWaitMs: 55_000,
      totalTimeoutMs: 300_000,
      maxInlineResultBytes: 4096,
      maxRiskUnapproved: "safe",
    });
  });

  it("limits with a negative number are refused (case 59)", async () => {
    for (const name of Object.keys(directLimits)) {
      for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        expect(() => checkedLimits({ ...directLimits, [name]: value }), name).toThrow(name);
        await expect(createRuntime({ limits: { [name]: value } })).rejects.toMatchObject({
          code: "options_invalid",
          message: expect.stringContaining(`\`${name}\` is `),
        });
      }
    }
  });

  it("limits are equal after a JSON round trip (case 60)", () => {
    for (const limits of [chainLimits, directLimits]) expect(JSON.parse(JSON.stringify(limits))).toEqual(limits);
  });

  it("two sessions allow 50 calls each (case 61)", async () => {
    await using h = await runtimeFixture();
    const sessions = [h.runtime.openSession(chainLimits, asker), h.runtime.openSession(chainLimits, asker)];
    const outcomes: ToolOutcome[] = [];
    for (const session of sessions) for (let i = 0; i < 50; i += 1) outcomes.push(await session.invoke(echo));
    expect(outcomes.every(({ status }) => status === "ok")).toBe(true);
    for (const session of sessions) expect((await session.invoke(echo)).refusal?.code).toBe("budget_exhausted");
    expect(h.ran).toHaveLength(100);
  });

  it("a direct caller may make 60 calls in one run, above the script's 50 (case 64)", async () => {
    await using h = await runtimeFixture();
    for (let i = 0; i < 60; i += 1)
      expect((await h.runtime.invoke(echo, { ...asker, runId: "run_1" })).status).toBe("ok");
    const session = h.runtime.openSession({}, asker);
    for (let i = 0; i < 60; i += 1) expect((await session.invoke(echo)).status).toBe("ok");
  });

  it("a direct call times out after at least 300 s (case 65)", () => {
    expect(directLimits.callTimeoutMs).toBeGreaterThanOrEqual(300_000);
  });

  it("an agent's own call timeout of 50 ms ends a slow tool as timed out (case 66)", async () => {
    await using h = await runtimeFixture({}, probe({ execute: () => new Promise(() => {}) }));
    const session = h.runtime.openSession({ callTimeoutMs: 50 }, asker);
    const running = session.invoke({ tool: "probe" });
    await h.clock.advance(51);
    const outcome = await running;
    expect(outcome.status).toBe("error");
    expect(outcome.text).toContain("timed out");
  });

  it("the default approval wait is shorter than the call timeout (case 81)", () => {
    for (const { approvalWaitMs, callTimeoutMs } of [chainLimits, directLimits])
      expect(approvalWaitMs).toBeLessThan(callTimeoutMs);
  });

  it("limits with the reverse order log one warning (case 81)", async () => {
    const messages: string[] = [];
    const log = (problem: string): void => void messages.push(problem);
    await using _reverse = await runtimeFixture({ log, limits: { approvalWaitMs: 70_000, callTimeoutMs: 60_000 } });
    expect(messages).toEqual([expect.stringMatching(/`approvalWaitMs` \(70000\).*`callTimeoutMs` \(60000\)/)]);
    await using _equal = await runtimeFixture({ log, limits: { approvalWaitMs: 60_000, callTimeoutMs: 60_000 } });
    expect(messages).toHaveLength(2);
    await using _shorter = await runtimeFixture({ log, limits: { approvalWaitMs: 59_999, callTimeoutMs: 60_000 } });
    expect(messages).toHaveLength(2);
  });

  it("a plain object without risk is safe in legacy mode (case 87)", async () => {
    const plain = { name: "old", description: "Says it back.", execute: () => "done" };
    const tools = [legacyTool(plain)];
    await using runtime = await createRuntime({ tools, autonomy: "A2", approvals: { patience: "suspend" } });
    expect(await runtime.explain({ tool: "old" }, asker)).toMatchObject({
      decision: { verdict: "ALLOW", risk: "safe" },
    });
    expect(await runtime.invoke({ tool: "old" }, asker)).toMatchObject({ status: "ok", text: "done" });
    expect(await runtime.approvals.list()).toEqual([]);
    await expect(createRuntime({ tools: [plain as never] })).rejects.toThrow(/legacyTool/); // nobody's object is safe by itself
  });
});

describe("scopes", () => {
  it("a call that lacks one is refused as scope_missing, audited, not retried, not run (case 143)", async () => {
    let ran = 0;
    await using h = await runtimeFixture(
      {},
      probe({
        scopes: ["mail:read", "mail:write"],
        execute: () => {
          ran += 1;
          return "x";
        },
      }),
    );
    const outcome = await h.runtime.invoke({ tool: "probe" }, { ...asker, scopes: ["mail:read"] });
    expect(outcome).toMatchObject({
      status: "denied",
      refusal: { code: "scope_missing", retry: "never" },
    });
    expect(outcome.text).toContain("mail:write");
    expect(ran).toBe(0);
    expect(await h.runtime.audit.query({})).toMatchObject([{ type: "tool_call.refused", code: "scope_missing" }]);
  });

  it("a superset passes, and so does a tool that requires none; omitted scopes are none (case 144)", async () => {
    await using h = await runtimeFixture({}, probe({ scopes: ["mail:read"] }));
    expect((await h.runtime.invoke({ tool: "probe" }, { ...asker, scopes: ["mail:read", "mail:write"] })).status).toBe(
      "ok",
    );
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    expect((await h.runtime.invoke({ tool: "probe" }, asker)).refusal?.code).toBe("scope_missing");
  });
});
