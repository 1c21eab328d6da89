import { afterEach, describe, expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { readPolicyText, readTestsText } from "../../config/policy-text.ts";
import { createRuntime, defineTool, type Runtime } from "../../index.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  risk: "safe",
  idempotent: true,
  execute: () => "ok",
});
const mail = defineTool({
  name: "mail",
  description: "Sends.",
  risk: "safe",
  idempotent: false,
  scopes: ["mail:write"],
  execute: () => "sent",
});

const deploy = defineTool({
  name: "deploy",
  description: "Rolls out.",
  risk: "safe",
  idempotent: true,
  scopes: ["deploy:all"],
  execute: () => "done",
});

async function runtimeFixture(): Promise<HttpFixture & { readonly runtime: Runtime }> {
  const runtime = await createRuntime({
    tools: [echo, mail, deploy],
    autonomy: "A2",
    approvals: { patience: "suspend" },
    policy: {
      rules: [
        { effect: "deny", tool: "echo", principal: { agent: "ann" }, id: "not-ann" },
        { effect: "confirm", tool: "deploy", principal: { user: "bob" } },
      ],
    },
  });
  const opened = await httpFixture(runtime, {
    policies: {
      policy: (text) => readPolicyText(text, import.meta.dirname),
      tests: async (text) => readTestsText(text),
    },
  });
  cleanups.push(
    () => runtime.close(),
    () => opened[Symbol.asyncDispose](),
  );
  return { ...opened, runtime };
}

const as = "operator";
const named = (text: string, name = "p.yaml") => ({ name, text });

describe("policy over HTTP", () => {
  it("shows the policy for the principal that is asked about", async () => {
    const { ask } = await runtimeFixture();
    const verdictOf = async (query: string): Promise<unknown> => {
      const { lines } = (await bodyOf(await ask(`/v1/policy${query}`, { as }))) as unknown as {
        lines: { tool: string; verdict: string }[];
      };
      return lines.find(({ tool }) => tool === "echo")?.verdict;
    };
    expect(await verdictOf("")).toBe("ALLOW");
    expect(await verdictOf("?agent=ann")).toBe("DENY");
    expect(await verdictOf("?autonomy=A0")).toBe("PREVIEW");
    expect((await ask("/v1/policy?autonomy=A9", { as })).status).toBe(422);
  });

  it("explains a call of any caller, with the scopes the tool needs or those that are named", async () => {
    const { ask } = await runtimeFixture();
    const explain = async (body: object) => bodyOf(await ask("/v1/policy/explain", { as, body }));
    expect(await explain({ tool: "echo", agent: "ann" })).toMatchObject({
      decision: { verdict: "DENY", reasons: [{ rule: "rule deny #1 (not-ann)" }] },
    });
    expect(await explain({ tool: "mail" })).toMatchObject({ decision: { verdict: "ALLOW" } });
    expect(await explain({ tool: "mail", scopes: [] })).toMatchObject({ decision: { missing_scope: "mail:write" } });
  });

  it("explains a recorded call with the authority it had", async () => {
    const { ask, runtime } = await runtimeFixture();
    const asked = await runtime.invoke(
      { tool: "deploy" },
      { principal: { tenant: "default", agent: "bo", user: "bob" }, scopes: ["deploy:all"], patience: "suspend" },
    );
    const typed = { tool: "deploy", agent: "bo" };
    expect(await bodyOf(await ask("/v1/policy/explain", { as, body: typed }))).toMatchObject({
      decision: { verdict: "ALLOW" },
    });
    expect(await bodyOf(await ask(`/v1/calls/${asked.callId}/explanation`, { as }))).toMatchObject({
      reached: "verdict",
      decision: {
        verdict: "CONFIRM",
        reasons: expect.arrayContaining([expect.objectContaining({ effect: "CONFIRM" })]),
      },
    });
    expect((await ask("/v1/calls/call_none/explanation", { as })).status).toBe(404);
    expect((await ask(`/v1/calls/${asked.callId}/explanation`, { as: "agent" })).status).toBe(403);
  });

  it("simulates and tests another policy, and tells its mistakes with their lines", async () => {
    const { ask } = await runtimeFixture();
    await ask("/v1/calls", { as: "agent", body: { tool: "echo" } });
    const configuration = named("policy:\n  rules:\n    - { effect: deny, tool: echo }");
    expect(await bodyOf(await ask("/v1/policy/simulate", { as, body: { configuration } }))).toMatchObject({
      replayed: 1,
      past_is_cut: false,
      changes: [{ tool: "echo", before: { verdict: "ALLOW" }, after: { reasons: [{ where: "p.yaml:3" }] } }],
    });
    const tables = [named("tests: [{ name: no echo, call: { tool: echo }, expect: DENY }]", "t.yaml")];
    expect(await bodyOf(await ask("/v1/policy/test", { as, body: { configuration, tables } }))).toMatchObject({
      passed: true,
      results: [{ name: "no echo", passed: true, where: "t.yaml:1" }],
    });
    const wrong = await ask("/v1/policy/simulate", { as, body: { configuration: named("policy:\n  ruls: []") } });
    expect(wrong.status).toBe(422);
    expect(await bodyOf(wrong)).toMatchObject({
      error: { code: "policy_refused", message: expect.stringContaining("p.yaml:2:3 policy.ruls") },
    });
  });

  it("refuses an invalid question", async () => {
    const { ask } = await runtimeFixture();
    for (const body of [
      {},
      { configuration: "policy: {}" },
      { configuration: named("x".repeat(1024 * 1024 + 1)) },
      { configuration: named(""), limit: 0 },
      { configuration: named(""), limit: 10_001 },
      { configuration: named(""), more: 1 },
    ])
      expect((await ask("/v1/policy/simulate", { as, body })).status).toBe(422);
  });
});
