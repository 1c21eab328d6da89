import { expect, it } from "vitest";
import { createRuntime, defineTool, type RuntimeOptions } from "../../index.ts";

const principal = { tenant: "default", agent: "tester" };

function pages(confirm?: string): ReturnType<typeof defineTool> {
  return defineTool({
    ...{ name: "open", description: "Opens a page.", risk: "safe", idempotent: false, inputSchema: { type: "object" } },
    classifyRisk: (given) => {
      const target = (given as { readonly url?: string }).url;
      return { ...(target !== undefined && { target }), ...(confirm !== undefined && { confirm }) };
    },
    execute: (_given, { approvalId }) => `opened by ${approvalId ?? "nobody"}`,
  });
}

async function ended(options: RuntimeOptions, given: { readonly url?: string }, tool = pages()): Promise<string> {
  await using runtime = await createRuntime({ tools: [tool], approvals: { patience: "suspend" }, ...options });
  const outcome = await runtime.invoke({ tool: "open", arguments: given }, { principal });
  return outcome.refusal?.code ?? outcome.status;
}

it.each([
  ["deny", { url: "https://a.example.org/x" }, "permission_denied"],
  ["deny", { url: "https://example.com/" }, "ok"],
  ["deny", {}, "permission_denied"],
  ["confirm", { url: "https://a.example.org/" }, "pending"],
  ["confirm", { url: "https://example.com/" }, "ok"],
] as const)("holds a rule that says %s against the target of %j", async (effect, given, end) => {
  const rules = [{ effect, tool: "open", target: { host: "*.example.org" } }];
  expect(await ended({ policy: { rules } }, given)).toBe(end);
});

it("permits by target only what names one", async () => {
  const policy = {
    default: "deny",
    rules: [{ effect: "allow", tool: "open", target: { host: "example.com" } }],
  } as const;
  expect(await ended({ policy }, { url: "https://example.com/" })).toBe("ok");
  expect(await ended({ policy }, {})).toBe("permission_denied");
});

it("refuses a condition on the target that is none", async () => {
  const rules = [{ effect: "deny", target: { host: "https://example.com" } }] as const;
  await expect(createRuntime({ policy: { rules } })).rejects.toThrow("which is no host");
});

it.each([undefined, "A2", "A3", "A4"] as const)(
  "a tool that asks for a person gets one at level %s",
  async (autonomy) => {
    const options = autonomy === undefined ? {} : { autonomy };
    await using runtime = await createRuntime({
      tools: [pages("look at this")],
      approvals: { patience: "suspend" },
      ...options,
    });
    const call = { tool: "open", arguments: {} };
    const context = { principal, idempotencyKey: "once" };
    const { approvalId = "" } = await runtime.invoke(call, context);
    expect(JSON.stringify((await runtime.approvals.get(approvalId))?.why)).toContain("look at this");
    await runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "ada" } });
    expect(await runtime.invoke(call, context)).toMatchObject({ status: "ok", text: `opened by ${approvalId}` });
  },
);

it("shows a call that asks for a person at A0, and runs it nowhere", async () => {
  expect(await ended({ autonomy: "A0" }, {}, pages("look at this"))).toBe("preview");
});
