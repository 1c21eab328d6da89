import { describe, expect, it } from "vitest";
import type { CallRequest } from "../../packages/postern/src/index.ts";
import { fixtureWithEnds } from "../fakes/ends.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } };

describe("names that are wrong", () => {
  const names: readonly (readonly [string, unknown])[] = [
    ["__proto__", "__proto__"],
    ["constructor", "constructor"],
    ["hasOwnProperty", "hasOwnProperty"],
    ["with NUL", "echo\0"],
    ["empty", ""],
    ["in capitals", "ECHO"],
    ["with a Cyrillic letter", "eсho"],
    ["fullwidth", "ｅcho"],
    ["turned round", "\u202eohce"],
    ["with a blank", "echo "],
    ["half a pair", "\ud800"],
    ["very long", "e".repeat(1_000_000)],
    ["a number", 7],
    ["an object", {}],
    ["null", null],
    ["a symbol", Symbol("echo")],
    ["an object that is text", { toString: () => "echo" }],
    ["a line break", "echo\n{}"],
  ];

  it.each(names)("of a tool, %s: the tool is unknown, with one bounded event", async (_what, tool) => {
    const { h, ends } = await fixtureWithEnds();
    await using _h = h;
    const outcome = await h.runtime.invoke({ tool: tool as never, arguments: { to: "x" } }, asker);
    expect(outcome.refusal?.code).toBe("tool_unknown");
    expect(outcome.text.length).toBeLessThan(400);
    expect(h.ran).toEqual([]);
    ends.expectOneEach(1);
    const [event] = await h.runtime.audit.query({});
    expect(JSON.stringify(event).length).toBeLessThan(2000);
  });

  it.each(names)("of an action, %s: the action is unknown, with one bounded event", async (_what, action) => {
    const { h, ends } = await fixtureWithEnds();
    await using _h = h;
    const outcome = await h.runtime.invoke({ tool: "echo", action: action as never, arguments: { to: "x" } }, asker);
    expect(outcome.refusal?.code).toBe("tool_unknown");
    expect(h.ran).toEqual([]);
    ends.expectOneEach(1);
  });

  const contexts: readonly (readonly [string, object])[] = [
    ["a run id with a path", { runId: "../../etc" }],
    ["an empty run id", { runId: "" }],
    ["a run id with NUL", { runId: "a\0b" }],
    ["a run id with a line break", { runId: "run\n" }],
    ["a run id of 65", { runId: "r".repeat(65) }],
    ["a trace id in capitals", { traceId: "A".repeat(32) }],
    ["a short trace id", { traceId: "0" }],
    ["a task id with NUL", { taskId: "\0" }],
    ["a step id of half a pair", { stepId: "\ud800" }],
    ["a tenant with NUL", { principal: { tenant: "a\0b", agent: "c" } }],
    ["an empty agent", { principal: { tenant: "a", agent: "" } }],
    ["a user that is an object", { principal: { tenant: "a", agent: "b", user: {} } }],
    ["an agent of 201", { principal: { tenant: "a", agent: "b".repeat(201) } }],
    ["an empty key", { idempotencyKey: "" }],
    ["a key that is no text", { idempotencyKey: { toString: () => "k" } }],
    ["a key of half a pair", { idempotencyKey: "\ud800" }],
    ["an unknown patience", { patience: "forever" }],
    ["a patience named as a member of every object", { patience: "constructor" }],
    ["a deadline that is no number", { deadline: Number.NaN }],
    ["a deadline without end", { deadline: Number.POSITIVE_INFINITY }],
    ["a wait that is no number", { approvalWaitMs: Number.NaN }],
    ["a negative wait", { approvalWaitMs: -1 }],
    ["a wait that is text", { approvalWaitMs: "soon" }],
    ["a signal that is no AbortSignal", { signal: {} }],
  ];

  it.each(contexts)(
    "%s is refused as context_invalid before anything is done, and the next call works",
    async (_what, context) => {
      await using h = await runtimeFixture();
      await expect(h.runtime.invoke(echo, { ...asker, ...context } as never)).rejects.toMatchObject({
        name: "RuntimeFault",
        code: "context_invalid",
      });
      expect(h.ran).toEqual([]);
      expect(await h.runtime.calls.list()).toEqual([]);
      expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    },
  );

  it("a caller's patience never widens what the runtime grants", async () => {
    await using h = await runtimeFixture({ approvals: {} });
    for (const patience of ["wait", "suspend", undefined] as const)
      expect(
        (await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { ...asker, ...(patience && { patience }) }))
          .refusal?.code,
      ).toBe("approval_unavailable");
    expect(await h.runtime.approvals.list()).toEqual([]);
  });

  it("a request that is no object is rejected, and the next call works", async () => {
    await using h = await runtimeFixture();
    for (const request of [
      null,
      undefined,
      "echo",
      7,
      {
        get tool(): string {
          throw new Error("no");
        },
      },
    ])
      await h.runtime.invoke(request as never as CallRequest, asker).then(
        (outcome) => expect(outcome.refusal?.code).toBe("tool_unknown"),
        (error: unknown) => expect(error).toBeInstanceOf(Error),
      );
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    await h.runtime.close();
  });
});
