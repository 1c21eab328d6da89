import { generateText, isStepCount, jsonSchema, type ModelMessage, streamText, ToolLoopAgent, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { expect, it } from "vitest";
import { z } from "zod";
import { aiSdkTools, wrapAiSdkTools } from "../../packages/agents/src/ai-sdk.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the tool once and ends when it has read an answer. */
function callsOnce(toolName: string, input: object): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) =>
      prompt.at(-1)?.role === "tool"
        ? {
            content: [{ type: "text", text: "done" }],
            finishReason: { unified: "stop", raw: "stop" },
            usage,
            warnings: [],
          }
        : {
            content: [{ type: "tool-call", toolCallId: "call_1", toolName, input: JSON.stringify(input) }],
            finishReason: { unified: "tool-calls", raw: "tool-calls" },
            usage,
            warnings: [],
          },
  });
}

interface Mail {
  readonly to: string;
}

async function mailRuntime(risk: "safe" | "high"): Promise<{ runtime: Runtime; sent: Mail[] }> {
  const sent: Mail[] = [];
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
  const sendMail = tool({
    description: "Sends a mail.",
    inputSchema: z.object({ to: z.string() }),
    execute: async (mail) => {
      sent.push(mail);
      return { messageId: sent.length };
    },
  });
  await wrapAiSdkTools(runtime, { sendMail }, { sendMail: { risk, effects: "write", idempotent: false } });
  return { runtime, sent };
}

it("runs a wrapped tool through the gate and gives the model its result", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  await using agent = aiSdkTools(runtime, { runId: "chat-1" });
  const result = await generateText({
    model: callsOnce("sendMail", { to: "ada" }),
    prompt: "go",
    stopWhen: isStepCount(3),
    ...agent.settings,
  });
  expect(result.text).toBe("done");
  expect(sent).toEqual([{ to: "ada" }]);
  expect(agent.agentTools.session.callCount).toBe(1);
  await runtime.close();
});

it("runs an approved call once, however often the messages are sent again", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const model = callsOnce("sendMail", { to: "ada" });
  const stored = await untilApproval(runtime, model);
  const [request] = await runtime.approvals.list();
  expect(sent).toEqual([]);
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  const texts = [await resume(runtime, model, stored), await resume(runtime, model, stored)];
  expect(texts).toEqual(["done", "done"]);
  expect(sent).toEqual([{ to: "ada" }]);
  await runtime.close();
});

it("goes on waiting for a yes that only the message list says, and runs after the decision", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const model = callsOnce("sendMail", { to: "ada" });
  const stored = await untilApproval(runtime, model);
  await expect(resume(runtime, model, stored)).rejects.toMatchObject({ code: "approval_waits" });
  await expect(resume(runtime, model, stored.replace("ada", "eve"))).rejects.toMatchObject({ code: "approval_waits" });
  expect(sent).toEqual([]);
  const [ada] = await runtime.approvals.list();
  await runtime.approvals.decide(ada?.id ?? "", { decision: "approved", by: { user: "grace" } });
  expect(await resume(runtime, model, stored)).toBe("done");
  expect(sent).toEqual([{ to: "ada" }]);
  await runtime.close();
});

async function untilApproval(runtime: Runtime, model: MockLanguageModelV4): Promise<string> {
  await using agent = aiSdkTools(runtime, { runId: "chat-1" });
  const messages: ModelMessage[] = [{ role: "user", content: "go" }];
  const result = await generateText({ model, messages, ...agent.settings });
  const asked = result.content.find((part) => part.type === "tool-approval-request");
  expect(asked).toBeDefined();
  const response = { type: "tool-approval-response" as const, approvalId: asked?.approvalId ?? "", approved: true };
  return JSON.stringify([...messages, ...result.responseMessages, { role: "tool", content: [response] }]);
}

async function resume(runtime: Runtime, model: MockLanguageModelV4, stored: string): Promise<string> {
  await using agent = aiSdkTools(runtime, { runId: "chat-1" });
  const result = await generateText({
    model,
    messages: JSON.parse(stored),
    stopWhen: isStepCount(3),
    ...agent.settings,
  });
  return result.text;
}

it("streams text and tool calls", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  await using agent = aiSdkTools(runtime);
  let step = 0;
  const model = new MockLanguageModelV4({
    doStream: async () => {
      step += 1;
      const end = {
        usage,
        finishReason: { unified: step === 1 ? ("tool-calls" as const) : ("stop" as const), raw: "" },
      };
      const part =
        step === 1
          ? [{ type: "tool-call" as const, toolCallId: "c", toolName: "sendMail", input: '{"to":"ada"}' }]
          : [
              { type: "text-start" as const, id: "1" },
              { type: "text-delta" as const, id: "1", delta: "done" },
              { type: "text-end" as const, id: "1" },
            ];
      return {
        stream: simulateReadableStream({
          chunks: [{ type: "stream-start" as const, warnings: [] }, ...part, { type: "finish" as const, ...end }],
        }),
      };
    },
  });
  const result = streamText({ model, prompt: "go", stopWhen: isStepCount(3), ...agent.settings });
  expect(await result.text).toBe("done");
  expect(sent).toHaveLength(1);
  await runtime.close();
});

it("takes tools whose schema is JSON Schema", async () => {
  const runtime = await createRuntime();
  const add = tool({
    description: "Adds.",
    inputSchema: jsonSchema<{ a: number }>({ type: "object", properties: { a: { type: "number" } }, required: ["a"] }),
    execute: async ({ a }) => a + 1,
  });
  await wrapAiSdkTools(runtime, { add }, { add: { risk: "safe", idempotent: true } });
  await using agent = aiSdkTools(runtime);
  const result = await generateText({ model: callsOnce("add", { a: "one" }), prompt: "go", ...agent.settings });
  expect(result.content.find((part) => part.type === "tool-error")?.error).toMatchObject({
    message: expect.stringContaining("do not fit `add`"),
  });
  await runtime.close();
});

it("works as the settings of an agent of the library", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  await using postern = aiSdkTools(runtime, { runId: "chat-1" });
  const agent = new ToolLoopAgent({ model: callsOnce("sendMail", { to: "ada" }), ...postern.settings });
  expect((await agent.generate({ prompt: "go" })).text).toBe("done");
  expect(sent).toEqual([{ to: "ada" }]);
  await runtime.close();
});

it("refuses to wrap a tool without a stated risk", async () => {
  const runtime = await createRuntime();
  const wiping = wrapAiSdkTools(runtime, { wipe: tool({ inputSchema: z.object({}), execute: async () => 1 }) }, {});
  await expect(wiping).rejects.toThrow("Tool `wipe` has no risk");
  await runtime.close();
});
