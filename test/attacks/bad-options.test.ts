import { expect, it } from "vitest";
import { createRuntime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import type { Policy } from "../../packages/postern/src/policy/index.ts";
import { asker, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } };
const mail = { tool: "mail", arguments: { to: "x" } };

type Row = readonly [string, object];
const options: readonly Row[] = [
  ["tools", { tools: "x" }],
  ["policy", { policy: 5 }],
  ["guardrails", { guardrails: {} }],
  ["store", { store: 5 }],
  ["secrets", { secrets: 5 }],
  ["secrets.get", { secrets: {} }],
  ["redactor.redact", { redactor: { learn() {}, finds() {} } }],
  ["hooks", { hooks: 5 }],
  ["hooks.toolStart", { hooks: { toolStart: 5 } }],
  ["clock", { clock: 5 }],
  ["clock.monotonic", { clock: { now: () => 0 } }],
  ["limits", { limits: 5 }],
  ["approvals", { approvals: [] }],
  ["approvals.approver", { approvals: { approver: 5 } }],
  ["approvals.approver.ask", { approvals: { approver: { name: "x" } } }],
  ["approvals.routes", { approvals: { routes: {} } }],
  ["approvals.accountsExist", { approvals: { accountsExist: true } }],
  ["accounts.sessions", { accounts: { sessions: 5 } }],
  ["audit.recheck", { audit: { recheck: 5 } }],
  ...[0, -1, 1.5, 10_001, Number.NaN].map(
    (entriesPerSecond) =>
      ["audit.recheck.entriesPerSecond", { audit: { recheck: { entriesPerSecond } } }] as const satisfies Row,
  ),
  ["results", { results: 5 }],
  ["skills", { skills: "folder" }],
  ["chains", { chains: true }],
  ["channels", { channels: [] }],
  ["servers", { servers: [] }],
  ["folder", { folder: "" }],
  ["archive.folder", { archive: {} }],
  ["log", { log: 5 }],
  ["nonsense", { nonsense: 1 }],
];

it.each(options)("an invalid option `%s` is named with its value, and nothing is opened", async (name, given) => {
  const made = createRuntime(given as RuntimeOptions);
  await expect(made).rejects.toMatchObject({ name: "RuntimeFault", code: "options_invalid" });
  await expect(made).rejects.toThrow(`\`${name}\``);
});

it("options that are no object are refused", async () => {
  for (const odd of [null, 5, "x", []])
    await expect(createRuntime(odd as never)).rejects.toMatchObject({ code: "options_invalid" });
});

const contexts: readonly (readonly [string, unknown])[] = [
  ["no context", null],
  ["a text", "x"],
  ["no principal", { principal: null }],
  ["no principal in a run", { principal: null, runId: "r" }],
  ["a principal that is a number", { principal: 5 }],
  ["a bigint as tenant", { principal: { tenant: 1n, agent: "a" } }],
  ["a credential that is a number", { principal: { tenant: "t", agent: "a", via: 7 } }],
  ["an owner that is a list", { principal: { tenant: "t", agent: "a", owner: [] } }],
  ["an unknown level", { autonomy: "A9" }],
  ["scopes that are a text", { scopes: "mail" }],
  ["scopes that are a number", { scopes: 5 }],
  ["a reason that is a number", { reason: 5 }],
  ["progress that is a number", { onProgress: 5 }],
];

it.each(contexts)("%s as context is refused as context_invalid beside calls that run", async (_what, context) => {
  await using h = await runtimeFixture();
  const beside = Array.from({ length: 20 }, () => h.runtime.invoke(echo, asker));
  await expect(h.runtime.invoke(echo, context as never)).rejects.toMatchObject({
    name: "RuntimeFault",
    code: "context_invalid",
  });
  for (const { status } of await Promise.all(beside)) expect(status).toBe("ok");
});

it("unknown limits of a session are named", async () => {
  await using h = await runtimeFixture();
  for (const odd of [{ foo: 1 }, { maxToolCalls: "9" }, { maxToolCalls: -1 }, null, 5])
    expect(() => h.runtime.openSession(odd as never)).toThrow(
      expect.objectContaining({ code: "options_invalid", message: expect.stringMatching(/limit|maxToolCalls/) }),
    );
  expect(h.runtime.openSession({ maxToolCalls: 3 }).limits.maxToolCalls).toBe(3);
});

it("an id that is no text and an unknown filter are refused, and not answered with everything", async () => {
  await using h = await runtimeFixture();
  const { runtime } = h;
  for (const odd of [undefined, null, 5, {}]) {
    for (const ask of [runtime.calls.get, runtime.approvals.get.bind(runtime.approvals), runtime.resume.bind(runtime)])
      await expect(ask(odd as never)).rejects.toMatchObject({ name: "RuntimeFault", code: "request_invalid" });
  }
  for (const odd of [{ type: 5 }, { limit: "9" }, { callId: [5] }, { since: Number.NaN }, { typ: "x" }, null])
    for (const ask of [runtime.audit.query.bind(runtime.audit), runtime.audit.latest.bind(runtime.audit)])
      await expect(ask(odd as never)).rejects.toMatchObject({
        name: "RuntimeFault",
        code: "request_invalid",
        message: expect.stringMatching(/^The filter is |is not a filter of | must be /),
      });
});

it("a note with an event name of the log's own, or with what the log cannot hold, is refused", async () => {
  await using h = await runtimeFixture();
  const { runtime } = h;
  for (const own of ["tool_call.succeeded", "tool_call.attempted", "gate.required", "gate.approved", "gate.blocked"])
    await expect(runtime.note(own, "it ran")).rejects.toMatchObject({
      name: "RuntimeFault",
      code: "request_invalid",
      message: expect.stringContaining("is written by Postern alone"),
    });
  for (const odd of [{ by: 7 }, { via: {} }, { tenant: 5 }, { outcome: "fine" }, null])
    await expect(runtime.note("own.word", "x", odd as never)).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringMatching(/ of the note is /),
    });
  for (const odd of [5, undefined, ""])
    await expect(runtime.note(odd as never, "x")).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringMatching(/ of the note is /),
    });
  await runtime.note("own.word", "x");
  expect(await eventTypes(runtime)).toEqual(["own.word"]);
});

const decision = { verdict: "ALLOW", risk: "safe", reasons: [{ rule: "own", effect: "ALLOW" }], policyVersion: "1" };
const odd: readonly (readonly [string, string, () => unknown])[] = [
  ["no reasons", "`decide(…).reasons` of the policy is missing", () => ({ ...decision, reasons: undefined })],
  ["an empty list of reasons", "reasons", () => ({ ...decision, reasons: [] })],
  ["a reason without a rule", "reasons[0].rule", () => ({ ...decision, reasons: [{ effect: "ALLOW" }] })],
  ["an unknown verdict", "verdict", () => ({ ...decision, verdict: "YES" })],
  ["an unknown risk", "risk", () => ({ ...decision, risk: "tiny" })],
  ["no version", "policyVersion", () => ({ ...decision, policyVersion: 5 })],
  ["a promise", "verdict", async () => decision],
  ["nothing", "a decision", () => undefined],
];

it.each(odd)(
  "an own policy that answers %s ends the call as internal, recorded, beside calls that run",
  async (_what, effect, decide) => {
    const policy = {
      version: "1",
      offers: () => true,
      decide: ({ tool }: { readonly tool: { readonly tool: string } }) => (tool.tool === "mail" ? decide() : decision),
    } as unknown as Policy;
    await using h = await runtimeFixture({ policy });
    const beside = Array.from({ length: 20 }, () => h.runtime.invoke(echo, asker));
    const outcome = await h.runtime.invoke(mail, asker);
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "internal" } });
    expect(outcome.text).toContain(effect);
    for (const { status } of await Promise.all(beside)) expect(status).toBe("ok");
    const [refused] = await h.runtime.audit.query({ tool: "mail" });
    expect(refused).toMatchObject({ type: "tool_call.refused", code: "internal" });
  },
);

it("a policy without its functions is refused when the runtime is created", async () => {
  for (const policy of [{ decide: 5 }, { decide() {}, version: "1" }, { decide() {}, offers() {} }])
    await expect(createRuntime({ policy: policy as never })).rejects.toMatchObject({ code: "policy_invalid" });
});

it("a caller that does not ask learns so; without an approver the refusal says that none exists", async () => {
  await using h = await runtimeFixture();
  const own = await h.runtime.invoke(mail, { ...asker, patience: "deny" });
  expect(own.refusal?.code).toBe("approval_unavailable");
  expect(own.text).toContain("this caller does not ask (its patience is `deny`)");
  expect(own.text).not.toContain("ApprovalHandler");
  await using alone = await runtimeFixture({ approvals: {} });
  expect((await alone.runtime.invoke(mail, { ...asker, patience: "deny" })).text).toContain("no ApprovalHandler");
});
