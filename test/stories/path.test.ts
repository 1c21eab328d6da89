import { describe, expect, it } from "vitest";
import { CallRefused } from "../../packages/postern/src/index.ts";
import { asker, boss, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } };

describe("a plain call", () => {
  it("logs attempted and then succeeded under its trace id, and nothing else (cases 40, 197)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, asker);
    const outcome = await session.invoke(echo);
    expect(outcome).toMatchObject({ status: "ok", text: "to x" });
    expect(outcome.artifact).toBeUndefined();
    expect(await eventTypes(h.runtime, session.traceId)).toEqual(["tool_call.attempted", "tool_call.succeeded"]);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true, events: 2 });
  });

  it("of an unknown tool is an error that names it, with one trace line (cases 41, 190)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, asker);
    const outcome = await session.invoke({ tool: "nonexistent" });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_unknown" } });
    expect(outcome.text).toContain("nonexistent");
    expect(session.trace).toMatchObject([{ tool: "nonexistent", status: "error" }]);
    expect(await eventTypes(h.runtime, session.traceId)).toEqual(["tool_call.refused"]);
  });

  it("of a tool named constructor is not found if none is registered", async () => {
    await using h = await runtimeFixture();
    expect((await h.runtime.invoke({ tool: "constructor" })).refusal?.code).toBe("tool_unknown");
    expect(
      (await h.runtime.invoke({ tool: "echo", action: "constructor", arguments: { to: "x" } })).refusal?.code,
    ).toBe("tool_unknown");
  });

  it("with arguments that break the schema names the argument and runs nothing (case 53)", async () => {
    await using h = await runtimeFixture();
    const outcome = await h.runtime.invoke({ tool: "echo", arguments: { to: 7 } });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "arguments_invalid" } });
    expect(outcome.text).toContain("`to`");
    expect(h.ran).toHaveLength(0);
  });

  it("without an approver is denied at once, and names the missing ApprovalHandler (case 68)", async () => {
    await using h = await runtimeFixture({ approvals: {} });
    const outcome = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } });
    expect(outcome).toMatchObject({ status: "denied", refusal: { code: "approval_unavailable" } });
    expect(outcome.text).toContain("no ApprovalHandler");
    expect(outcome.text).toContain('`approvals: { patience: "suspend" }`'); // and how to have one
    expect(h.ran).toHaveLength(0);
  });

  it("throws CallRefused with the outcome through the throwing API (case 88)", async () => {
    await using h = await runtimeFixture();
    await expect(h.runtime.call("mail", "default", { to: "x" }, asker)).rejects.toMatchObject({
      code: "pending",
      outcome: { status: "pending" },
    });
    await expect(h.runtime.call("none", "default", {})).rejects.toBeInstanceOf(CallRefused);
    expect((await h.runtime.call("echo", "default", { to: "y" })).text).toBe("to y");
  });

  it("ignores later changes of the caller's arguments", async () => {
    await using h = await runtimeFixture();
    const given = { to: "x" };
    const running = h.runtime.invoke({ tool: "echo", arguments: given });
    given.to = "evil";
    await running;
    expect(h.ran).toEqual([{ to: "x" }]);
  });

  it("is refused, typed and with one event, if its arguments are not JSON", async () => {
    await using h = await runtimeFixture();
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const ugly: unknown[] = [
      cycle,
      { to: 1n },
      { to: "\ud800" },
      [],
      null,
      "text",
      {
        to: {
          toJSON: () => {
            throw new Error("no");
          },
        },
      },
    ];
    for (const given of ugly) {
      const outcome = await h.runtime.invoke({ tool: "echo", arguments: given as never });
      expect(outcome.refusal?.code).toBe("arguments_invalid");
    }
    expect(await eventTypes(h.runtime)).toEqual(ugly.map(() => "tool_call.refused"));
    expect(h.ran).toHaveLength(0);
  });
});

describe("a tool that misbehaves", () => {
  const misbehaving = (name: string, execute: () => unknown): Parameters<typeof runtimeFixture>[1] => [
    {
      name,
      description: "Misbehaves.",
      risk: "safe",
      effects: "read",
      idempotent: true,
      input: { type: "object" },
      execute: execute as never,
      timeoutMs: 50,
    },
  ];

  it("ends in status error with the error's class and message when it throws, never a rejection (case 46)", async () => {
    await using h = await runtimeFixture(
      {},
      misbehaving("bad", () => {
        throw new TypeError("broken pipe");
      }),
    );
    const outcome = await h.runtime.invoke({ tool: "bad" });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
    expect(outcome.text).toMatch(/TypeError.*broken pipe/);
  });

  it("ends in status error without a crash when it throws a non-error value or null (case 47)", async () => {
    for (const thrown of [null, undefined, 7, "text", Symbol("s"), Object.create(null)]) {
      await using h = await runtimeFixture(
        {},
        misbehaving("bad", () => {
          throw thrown;
        }),
      );
      expect((await h.runtime.invoke({ tool: "bad" })).status).toBe("error");
    }
  });

  it("ends as timed out when it never resolves, and the trace says timeout (cases 48, 191)", async () => {
    await using h = await runtimeFixture(
      {},
      misbehaving("hang", () => new Promise(() => {})),
    );
    const session = h.runtime.openSession();
    const hang = async () => {
      const running = session.invoke({ tool: "hang" });
      await h.clock.advance(51);
      return running;
    };
    await hang();
    const waiting = h.clock.waiting;
    const outcome = await hang();
    expect(outcome.text).toContain("timed out");
    expect(session.trace[0]?.status).toBe("timeout");
    expect(h.clock.waiting).toBeLessThanOrEqual(waiting); // nothing of the call is waited for any more
  });

  it("has a bounded result when it answers with a cycle or with 20 MB", async () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    await using h = await runtimeFixture({}, [
      ...(misbehaving("cycle", () => cycle) ?? []),
      ...(misbehaving("huge", () => "x".repeat(20_000_000)) ?? []),
    ]);
    expect((await h.runtime.invoke({ tool: "cycle" })).status).toBe("error");
    const huge = await h.runtime.invoke({ tool: "huge" });
    expect(huge.status).toBe("ok");
    expect(Buffer.byteLength(huge.text)).toBeLessThanOrEqual(4096);
    expect(huge.artifact).toMatch(/^[0-9a-f]{64}$/);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
  });
});

describe("a session", () => {
  it("refuses the third of three calls with max_tool_calls 2; the tool ran twice (case 56)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({ maxToolCalls: 2 });
    await session.invoke(echo);
    await session.invoke(echo);
    const third = await session.invoke(echo);
    expect(third).toMatchObject({ status: "error", refusal: { code: "budget_exhausted" } });
    expect(h.ran).toHaveLength(2);
  });

  it("counts unknown tools too (case 57)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({ maxToolCalls: 2 });
    await session.invoke({ tool: "no" });
    await session.invoke({ tool: "no" });
    expect((await session.invoke(echo)).refusal?.code).toBe("budget_exhausted");
  });

  it("counts two parallel calls with two records; its trace is a copy (cases 55, 62)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession();
    await Promise.all([session.invoke(echo), session.invoke(echo)]);
    expect(session.callCount).toBe(2);
    (session.trace as unknown[]).pop();
    expect(session.trace).toHaveLength(2);
  });

  it("that asks for wider limits gets the runtime's (case 67)", async () => {
    await using h = await runtimeFixture({ limits: { maxToolCalls: 5, callTimeoutMs: 1000 } });
    expect(
      h.runtime.openSession({ maxToolCalls: 50, callTimeoutMs: 10, maxInlineResultBytes: 1_000_000 }).limits,
    ).toMatchObject({ maxToolCalls: 5, callTimeoutMs: 10, maxInlineResultBytes: 4096 });
    expect(() => h.runtime.openSession({ maxToolCalls: -1 })).toThrow(/maxToolCalls/);
  });

  it("that is closed takes no calls and releases its pins", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession();
    await session.close();
    expect((await session.invoke(echo)).refusal?.code).toBe("session_closed");
  });

  it("whose total time is over takes no calls", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({ totalTimeoutMs: 1000 });
    await h.clock.advance(1001);
    expect((await session.invoke(echo)).refusal?.code).toBe("budget_exhausted");
  });
});

describe("a cancellation", () => {
  it("of a running effect is unknown, recorded once, and rethrown to the caller that cancelled", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x", slow: true } }, asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    const stop = new AbortController();
    const running = h.runtime.resume(approvalId, { signal: stop.signal });
    running.catch(() => {});
    await h.clock.advance(5);
    stop.abort(new Error("gone"));
    await expect(running).rejects.toThrow("gone");
    const types = (await eventTypes(h.runtime)).filter((type) => !type.startsWith("alarm."));
    expect(types.slice(2)).toEqual(["tool_call.attempted", "tool_call.unknown"]);
    expect((await h.runtime.resume(approvalId))?.refusal?.code).toBe("outcome_unknown");
    expect((await h.runtime.invoke({ tool: "mail", arguments: { to: "x", slow: true } }, asker)).refusal?.code).toBe(
      "outcome_unknown",
    );
  });

  it("before the claim runs nothing, and is one event (cases 191, 51)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, asker);
    await expect(session.invoke(echo, { signal: AbortSignal.abort(new Error("early")) })).rejects.toThrow("early");
    await expect(session.invoke(echo, { deadline: h.clock.now() - 1 })).rejects.toThrow(/deadline/);
    expect(session.trace).toHaveLength(2);
    expect(await eventTypes(h.runtime, session.traceId)).toEqual(["tool_call.cancelled", "tool_call.cancelled"]);
    expect(h.ran).toHaveLength(0);
  });
});
