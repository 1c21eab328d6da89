import { expect, it } from "vitest";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import {
  type Guardrail,
  patternGuardrail,
  personalData,
  promptInjection,
} from "../../packages/postern/src/policy/index.ts";
import { endEvents, finds, guardrailFixture, invokeSay, sayTool, writtenTexts } from "../fakes/guardrail-fixture.ts";
import { expectWork } from "../fakes/in-time.ts";

it("a violation in the arguments stops the call before the tool runs, and says why (case 269)", async () => {
  await using h = await guardrailFixture([finds("bad", "DENY")]);
  const outcome = await invokeSay(h.runtime, "bad");
  expect(outcome).toMatchObject({ status: "denied", refusal: { code: "permission_denied" } });
  expect(outcome.text).toContain("guardrail word: a word is not allowed");
  expect(await endEvents(h.runtime, outcome.callId)).toEqual(["tool_call.refused"]);
  expect((await invokeSay(h.runtime, "good")).status).toBe("ok");
  expect(writtenTexts).toEqual(["good"]);
});

it("asks a person or raises the risk, and runs again when the call re-enters", async () => {
  let looks = 0;
  const asking: Guardrail = {
    name: "asking",
    on: "arguments",
    check: async () => {
      looks += 1;
      return [{ effect: "CONFIRM", why: "look at it" }];
    },
  };
  await using h = await guardrailFixture([asking], { approvals: { patience: "suspend" } });
  const held = await invokeSay(h.runtime, "x");
  expect(held.status).toBe("pending");
  const [request] = await h.runtime.approvals.list({});
  expect(request?.why).toContainEqual({ rule: "guardrail asking: look at it", effect: "CONFIRM" });
  await h.runtime.approvals.decide(held.approvalId ?? "", { decision: "approved", by: { user: "ada" } });
  expect((await h.runtime.resume(held.approvalId ?? ""))?.status).toBe("ok");
  expect(looks).toBeGreaterThanOrEqual(2);
  await using raised = await guardrailFixture([finds("loud", "RAISE")], { autonomy: "A3" });
  expect((await invokeSay(raised.runtime, "loud")).refusal?.code).toBe("approval_unavailable");
  expect((await invokeSay(raised.runtime, "low")).status).toBe("ok");
});

it("an earlier approval does not lift its refusal", async () => {
  let strict = false;
  const changing: Guardrail = {
    name: "changing",
    on: "arguments",
    check: () => [{ effect: strict ? "DENY" : "CONFIRM", why: "so" }],
  };
  await using h = await guardrailFixture([changing], { approvals: { patience: "suspend" } });
  const held = await invokeSay(h.runtime, "x");
  await h.runtime.approvals.decide(held.approvalId ?? "", { decision: "approved", by: { user: "ada" } });
  strict = true;
  expect((await h.runtime.resume(held.approvalId ?? ""))?.refusal?.code).toBe("permission_denied");
  expect(writtenTexts).toEqual([]);
});

const broken: readonly (readonly [string, Guardrail["check"], RegExp])[] = [
  [
    "throws",
    () => {
      throw new Error("out of order");
    },
    /out of order/,
  ],
  ["rejects", () => Promise.reject(new Error("no line")), /no line/],
  ["answers nothing", (() => undefined) as never, /not a list of findings/],
  [
    "answers with a finding it may not return",
    (() => [{ effect: "ALLOW", why: "x" }]) as never,
    /not a list of findings/,
  ],
  [
    "answers with a throwing Proxy",
    (() =>
      new Proxy([1], {
        get: () => {
          throw new Error("trap");
        },
      })) as never,
    /not a list of findings|trap/,
  ],
];
it.each(broken)(
  "a guardrail that %s stops the call when it is closed, and lets it through when it is open (case 269)",
  async (_, check, why) => {
    for (const on of ["arguments", "result"] as const) {
      await using closed = await guardrailFixture([{ name: "broken", on, check } as Guardrail]);
      const outcome = await invokeSay(closed.runtime, "x");
      expect(outcome.refusal?.code).toBe(on === "arguments" ? "permission_denied" : "result_withheld");
      expect(outcome.text).toMatch(/guardrail `?broken`?:? failed: .*, and is closed/);
      expect(closed.log.join()).toMatch(why);
      expect(await endEvents(closed.runtime, outcome.callId)).toHaveLength(1);
      await using open = await guardrailFixture([{ name: "broken", on, check, onFailure: "open" } as Guardrail]);
      const passed = await invokeSay(open.runtime, "x");
      expect(passed).toMatchObject({ status: "ok", text: "x" });
      expect(open.log.join()).toMatch(why);
      expect(await endEvents(open.runtime, passed.callId)).toEqual(["tool_call.succeeded"]);
    }
  },
);

it("an open guardrail that failed is named in the reasons of the call", async () => {
  const check = (): never => {
    throw new Error("out of order");
  };
  await using h = await guardrailFixture([{ name: "broken", on: "arguments", check, onFailure: "open" }]);
  const { callId } = await invokeSay(h.runtime, "x");
  const [began] = await h.runtime.audit.query({ callId, type: "tool_call.attempted" });
  expect(began?.reasons).toContainEqual({
    rule: "guardrail broken: failed: out of order, and is open",
    effect: "ALLOW",
  });
});

it("a guardrail that hangs is given up after its time and aborted, and its late answer is ignored", async () => {
  for (const on of ["arguments", "result"] as const) {
    const late = Promise.withResolvers<readonly never[]>();
    let aborted = false;
    const check: Guardrail["check"] = (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return late.promise;
    };
    await using h = await guardrailFixture([{ name: "slow", on, check, timeoutMs: 100 } as Guardrail]);
    const outcome = invokeSay(h.runtime, "x");
    await h.clock.advance(100);
    const { callId, refusal, text } = await outcome;
    expect(refusal?.code).toBe(on === "arguments" ? "permission_denied" : "result_withheld");
    expect(text).toContain("no answer within 100 ms");
    expect(aborted).toBe(true);
    late.resolve([]);
    await h.clock.advance(1_000);
    expect(await endEvents(h.runtime, callId)).toHaveLength(1);
    expect(h.clock.waiting).toBeLessThan(5);
  }
});

it("a guardrail without a time of its own is given up after a second", async () => {
  await using h = await guardrailFixture([{ name: "slow", on: "arguments", check: () => new Promise(() => {}) }]);
  const outcome = invokeSay(h.runtime, "x");
  await h.clock.advance(1_000);
  expect((await outcome).text).toContain("no answer within 1000 ms");
});

it("a guardrail sees no secret that the redactor knows, and cannot change the call", async () => {
  const seen: string[] = [];
  const nosy: Guardrail = {
    name: "nosy",
    on: "result",
    check: (subject) => {
      seen.push(subject.text);
      Object.assign(subject.principal, { agent: "root" });
      return [];
    },
  };
  const leaky = defineTool({
    name: "leaky",
    description: "Leaks.",
    risk: "safe",
    idempotent: true,
    execute: async (_, { secrets }) => `it is ${(await secrets.get("x", "key")).reveal()}`,
  });
  process.env["POSTERN_SECRET_X_KEY"] = "hunter2-hunter2-hunter2";
  try {
    await using h = await guardrailFixture([nosy], { tools: [leaky] });
    expect((await h.runtime.invoke({ tool: "leaky" })).status).toBe("ok");
    expect(seen).toHaveLength(1);
    expect(seen.join()).not.toContain("hunter2");
    const [row] = await h.runtime.calls.list({});
    expect(row?.call.authority.principal.agent).not.toBe("root");
  } finally {
    delete process.env["POSTERN_SECRET_X_KEY"];
  }
});

it.each<[unknown, RegExp]>([
  [
    [{ name: "a b", on: "result", check: () => [] }],
    /`guardrails\[0\]\.name`: `"a b"` does not have the right form\. Use 1 to 64/,
  ],
  [[{ name: "a", on: "both", check: () => [] }], /`guardrails\[0\]\.on`: `"both"` is not one of `arguments`, `result`/],
  [[{ name: "a", on: "result" }], /`guardrails\[0\]\.check`: It is missing\. Add it: a function/],
  [
    [{ name: "a", on: "result", check: () => [], onFailure: "shut" }],
    /`guardrails\[0\]\.onFailure`: `"shut"` is not one of `open`, `closed`/,
  ],
  [
    [{ name: "a", on: "result", check: () => [], timeoutMs: 0 }],
    /`guardrails\[0\]\.timeoutMs`: `0` is too small\. Write a number above 0/,
  ],
  [[promptInjection(), promptInjection()], /Two guardrails on result are called `prompt-injection`/],
  ["x", /`guardrails`: `"x"` is not a list\. Write a list/],
])("a mistake in a guardrail is named before anything runs: %#", async (guardrails, message) => {
  await expect(createRuntime({ guardrails: guardrails as never })).rejects.toThrow(message);
});

it("patterns are RE2's; an invalid one and a finding in the wrong place are named", async () => {
  const look = patternGuardrail({ name: "p", on: "result", patterns: ["(?<=a)b"] });
  await expect(createRuntime({ guardrails: [look] })).rejects.toThrow(
    /The pattern `\(\?<=a\)b` of guardrail `p` is not RE2's/,
  );
  expect(() => patternGuardrail({ name: "p", on: "result", patterns: ["x"], effect: "DENY" })).toThrow(
    /one of WITHHOLD, MARK/,
  );
  expect(() => personalData({ kinds: ["shoe" as never] })).toThrow(
    /`kinds\[0\]` of guardrail `personal-data`: `"shoe"` is not one of `card`, `iban`, `email`, `phone`/,
  );
  expect(() => promptInjection({ onFailur: "open" } as never)).toThrow(
    /`onFailur` of guardrail `prompt-injection`: `onFailur` is not a known key\. Did you mean `onFailure`/,
  );
  expect(() => patternGuardrail({ name: "p", on: "result", patterns: [] })).toThrow(
    /`patterns` of guardrail `p`: It is empty/,
  );
});

it("patterns that hang other engines answer at once", async () => {
  await using h = await guardrailFixture([
    patternGuardrail({ name: "evil", on: "arguments", patterns: ["^(a+)+$", "(x+x+)+y"] }),
  ]);
  await expectWork(3_000, async (at) => {
    expect((await invokeSay(h.runtime, `${"a".repeat(50_000 + at)}!`)).status).toBe("ok");
    expect((await invokeSay(h.runtime, "x".repeat(50_000 + at))).status).toBe("ok");
  });
});

it("a guardrail gets the call and its server, and its findings are cut and redacted", async () => {
  const seen: unknown[] = [];
  const talker: Guardrail = {
    name: "talker",
    on: "arguments",
    check: (subject) => {
      seen.push(subject);
      return [{ effect: "DENY", why: `long ${"x".repeat(5_000)}` }];
    },
  };
  await using h = await guardrailFixture([talker]);
  h.runtime.tools.register(
    { ...sayTool, name: "web__say" },
    { server: "web", risk: "medium", openWorld: true, effects: "write" },
  );
  const outcome = await h.runtime.invoke({ tool: "web__say", arguments: { text: "7" } }, { runId: "run_7" });
  expect(seen).toEqual([
    {
      tool: "web__say",
      action: "default",
      server: "web",
      effects: "write",
      openWorld: true,
      principal: expect.objectContaining({ tenant: "default" }),
      runId: "run_7",
      arguments: { text: "7" },
      text: "text\n7",
    },
  ]);
  expect(outcome.text.length).toBeLessThan(500);
});
