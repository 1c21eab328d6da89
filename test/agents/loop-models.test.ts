import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { expect, it } from "vitest";
import { aiSdkModel } from "../../packages/agents/src/ai-sdk-model.ts";
import { createAgent } from "../../packages/agents/src/loop.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";

const usage = {
  inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};
const stop = { unified: "stop" as const, raw: "stop" };
const call = { type: "tool-call" as const, toolCallId: "c1", toolName: "add", input: '{"a":2}' };
const thought = { type: "reasoning" as const, text: "add them", providerMetadata: { p: { signature: "s" } } };
const hosted = {
  type: "tool-call" as const,
  toolCallId: "w1",
  toolName: "web_search",
  input: "{}",
  providerExecuted: true,
};
const found = { type: "tool-result" as const, toolCallId: "w1", toolName: "web_search", result: { hits: 1 } };

const add = {
  ...{ name: "add", description: "Adds one.", risk: "safe" as const, idempotent: true },
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
  execute: (input: unknown) => `${(input as { a: number }).a + 1}`,
};

it("runs a language model of the AI SDK and sends reasoning and hosted results back as they came", async () => {
  await using runtime = await createRuntime();
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => ({
      content: prompt.at(-1)?.role === "tool" ? [{ type: "text", text: "It is 3." }] : [thought, hosted, found, call],
      ...{ finishReason: stop, usage, warnings: [] },
    }),
  });
  const result = await createAgent({ runtime, model: aiSdkModel(model), tools: [add] }).run({ prompt: "2 + 1?" });
  expect(result).toMatchObject({ status: "done", text: "It is 3." });
  expect(model.doGenerateCalls[1]?.prompt.slice(1)).toEqual([
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "add them", providerOptions: { p: { signature: "s" } } },
        { type: "tool-call", toolCallId: "w1", toolName: "web_search", input: {}, providerExecuted: true },
        { type: "tool-result", toolCallId: "w1", toolName: "web_search", output: { type: "json", value: { hits: 1 } } },
        { type: "tool-call", toolCallId: "c1", toolName: "add", input: { a: 2 } },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c1", toolName: "add", output: { type: "text", value: "3" } }],
    },
  ]);
});

it("streams the text and puts the parts together", async () => {
  await using runtime = await createRuntime();
  let step = 0;
  const model = new MockLanguageModelV4({
    doStream: async () => {
      step += 1;
      const parts =
        step === 1
          ? [call]
          : [
              { type: "text-start" as const, id: "1" },
              { type: "text-delta" as const, id: "1", delta: "It " },
              { type: "text-delta" as const, id: "1", delta: "is 3." },
              { type: "text-end" as const, id: "1" },
            ];
      const chunks = [...parts, { type: "finish" as const, usage, finishReason: stop }];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
  const heard: string[] = [];
  const result = await createAgent({ runtime, model: aiSdkModel(model), tools: [add] }).run(
    { prompt: "2 + 1?" },
    { onEvent: (event) => void (event.type === "text" && heard.push(event.text)) },
  );
  expect(result).toMatchObject({ status: "done", text: "It is 3." });
  expect(heard).toEqual(["It ", "is 3."]);
});
