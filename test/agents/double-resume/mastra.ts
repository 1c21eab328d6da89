import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import { mastraTools, wrapMastraTools } from "../../../packages/agents/src/mastra.ts";
import { type Library, type Stage, statement } from "./scenario.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = { type: "tool-call" as const, toolCallId: "call_1", toolName: "add", input: '{"a":1}' };
const text = [
  { type: "text-start" as const, id: "1" },
  { type: "text-delta" as const, id: "1", delta: "done" },
  { type: "text-end" as const, id: "1" },
];

const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => ({
    content: prompt.at(-1)?.role === "tool" ? [{ type: "text", text: "done" }] : [call],
    finishReason: { unified: prompt.at(-1)?.role === "tool" ? "stop" : "tool-calls", raw: "" },
    ...{ usage, warnings: [] },
  }),
  doStream: async ({ prompt }) => {
    const isAnswered = prompt.at(-1)?.role === "tool";
    const finishReason = { unified: isAnswered ? ("stop" as const) : ("tool-calls" as const), raw: "" };
    const start = { type: "stream-start" as const, warnings: [] };
    const chunks = [start, ...(isAnswered ? text : [call]), { type: "finish" as const, finishReason, usage }];
    return { stream: convertArrayToReadableStream(chunks) };
  },
});

function agentFor({ ran, runtime }: Stage): Agent {
  const add = createTool({
    ...{ id: "add", description: "Adds.", inputSchema: z.object({ a: z.number() }), requireApproval: true },
    execute: async (input) => {
      ran(input);
      return { added: true };
    },
  });
  if (runtime !== undefined) wrapMastraTools(runtime, { add }, { add: statement });
  const tools = runtime === undefined ? { add } : mastraTools(runtime, { createTool }, { runId: "run-1" }).tools;
  const mock = model as unknown as ConstructorParameters<typeof Agent>[0]["model"]; // Mastra wants streams of both
  const agent = new Agent({ id: "x", name: "x", instructions: "i", model: mock, tools });
  return new Mastra({ agents: { x: agent }, storage: new InMemoryStore(), logger: false }).getAgent("x");
}

export const mastra: Library = {
  name: "Mastra 1.71",
  async run(scenario, stage) {
    if (scenario !== "resumed twice") return false; // the snapshot is the server's own
    const agent = agentFor(stage);
    const { runId = "" } = await agent.generate("go");
    await stage.approve();
    const approve = () => agent.approveToolCallGenerate({ runId, toolCallId: "call_1" });
    await Promise.allSettled([approve(), approve()]);
    return true;
  },
};
