import { describe, expect, it } from "vitest";
import type { CallContext, RuntimeOptions, ToolContext } from "../../packages/postern/src/index.ts";
import type { AgentProgress } from "../../packages/postern/src/observe/index.ts";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { asker, boss, runtimeFixture } from "../fakes/runtime-fixture.ts";

const value = "hunter2-hunter2-hunter2";
const anything = { type: "object" } as const;

/** A tool that borrows a secret, keeps it, and shows it in every field it can. */
async function lending(options: RuntimeOptions = {}): ReturnType<typeof runtimeFixture> {
  const redactor = createRedactor();
  const secrets = environmentSecrets({ redactor, environment: { POSTERN_SECRET_MAIL_TOKEN: value } });
  const borrow = async (_: unknown, context: ToolContext): Promise<string> => {
    const { length } = (await context.secrets.get("mail", "token")).reveal();
    context.progress(`has ${value}`);
    return `it has ${length}: ${value}`;
  };
  const plain = { effects: "write", idempotent: false, inputSchema: anything } as const;
  return runtimeFixture({ redactor, secrets, policy: { default: "allow" }, ...options }, [
    { ...plain, name: "borrow", description: "Borrows.", risk: "safe", execute: borrow },
    {
      ...plain,
      name: "careful",
      description: "Asks first.",
      risk: "high",
      classifyRisk: () => ({ risk: "high", summary: `will use ${value}` }),
      execute: borrow,
    },
  ]);
}

describe("a secret that was lent", () => {
  it("reaches its tool only: result, progress and rows have the mask (case 260)", async () => {
    await using made = await lending();
    const received: string[] = [];
    const onProgress = ({ content }: AgentProgress): void => void received.push(content);
    const outcome = await made.runtime.invoke({ tool: "borrow", arguments: {} }, { ...asker, onProgress });
    expect(outcome.text).toBe("it has 23: [redacted]");
    expect(received).toEqual(["borrow", "has [redacted]", "it has 23: [redacted]"]);
    expect(JSON.stringify(await made.runtime.calls.list())).not.toContain(value);
  });

  it("is masked in the preview that a tool shows to a person", async () => {
    await using made = await lending();
    const { approvalId = "" } = await made.runtime.invoke({ tool: "careful", arguments: {} }, asker);
    expect((await made.runtime.approvals.get(approvalId))?.summary).toBe("will use [redacted]");
    await made.runtime.approvals.decide(approvalId, { decision: "approved", by: boss, reason: `with ${value}` });
    expect(JSON.stringify(await made.runtime.approvals.list())).not.toContain(value);
  });
});

describe("a caller that knows a secret", () => {
  it.each<[string, CallContext]>([
    ["principal", { principal: { tenant: "default", agent: value } }],
    ["task", { taskId: `task ${value}` }],
    ["step", { stepId: Buffer.from(value).toString("hex") }],
    ["key", { idempotencyKey: Buffer.from(`a ${value}`).toString("base64") }],
    ["run", { runId: value }],
    ["scope", { scopes: [value] }],
  ])("cannot use it in its %s, which is stored unmasked", async (_, context) => {
    await using made = await lending();
    const refused = made.runtime.invoke({ tool: "borrow", arguments: {} }, context);
    await expect(refused).rejects.toMatchObject({
      code: "context_invalid",
      message: expect.stringContaining("secret"),
    });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining(value) });
    await using session = made.runtime.openSession({}, asker);
    const { principal: __, runId: ___, ...own } = context;
    if (Object.keys(own).length > 0)
      await expect(session.invoke({ tool: "borrow", arguments: {} }, own)).rejects.toMatchObject({
        code: "context_invalid",
      });
    expect(await made.runtime.calls.list()).toEqual([]);
  });

  it("cannot pass it on in arguments, nor leave it in the log as a tool's name, whole or cut", async () => {
    await using made = await lending();
    const given = await made.runtime.invoke({ tool: "echo", arguments: { to: `x ${value}` } }, asker);
    expect(given.refusal?.code).toBe("secret_in_arguments");
    const named = await made.runtime.invoke(
      { tool: `${"x".repeat(115)}${value}`, action: value, arguments: {} },
      asker,
    );
    expect(named.refusal).toMatchObject({ code: "tool_unknown" });
    const kept = JSON.stringify([named, await made.runtime.audit.query({})]);
    expect(kept).toContain("[redacted]");
    expect(kept).not.toContain(value.slice(0, 8));
  });
});
