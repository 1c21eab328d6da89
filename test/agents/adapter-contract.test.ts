/** The contract of adapters, through the code of real libraries: each makes the call and says what its model reads. */
import { AIMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createTool } from "@mastra/core/tools";
import { generateText, isStepCount, type ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { aiSdkTools } from "../../packages/agents/src/ai-sdk.ts";
import { anthropicRunnerTools } from "../../packages/agents/src/anthropic-runner.ts";
import { langchainTools } from "../../packages/agents/src/langchain.ts";
import { mastraTools } from "../../packages/agents/src/mastra.ts";
import { openaiAgentsTools } from "../../packages/agents/src/openai-agents.ts";
import { type AdapterCall, adapterContract } from "../../packages/postern/src/testing/index.ts";
import { oneSpanPerCall } from "../fakes/spans.ts";

const countCalls = oneSpanPerCall();

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

type Prompt = Parameters<MockLanguageModelV4["doGenerate"]>[0]["prompt"];

/** Makes one call, and keeps what it reads of it. */
function modelOf({ id, name, arguments: given }: AdapterCall, read: (result: Prompt[number]) => void) {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1);
      const isAnswered = last?.role === "tool";
      if (isAnswered) read(last);
      return {
        content: isAnswered
          ? [{ type: "text", text: "done" }]
          : [{ type: "tool-call", toolCallId: id, toolName: name, input: JSON.stringify(given) }],
        finishReason: { unified: isAnswered ? "stop" : "tool-calls", raw: "" },
        ...{ usage, warnings: [] },
      };
    },
  });
}

adapterContract("AI SDK", (runtime) => {
  countCalls(runtime);
  const { tools } = aiSdkTools(runtime, { runId: "chat-1" }).settings;
  const messages: ModelMessage[] = [{ role: "user", content: "go" }];
  return {
    call: async (call) => {
      let read: unknown;
      const model = modelOf(call, (result) => {
        read = result;
      });
      await generateText({ model, messages, tools, stopWhen: isStepCount(2) }); // no `toolApproval`: the model reads what waits
      return JSON.stringify(read);
    },
  };
});

adapterContract("LangChain", (runtime) => {
  countCalls(runtime);
  const node = new ToolNode(langchainTools(runtime, { tool }, { runId: "thread-1" }).tools);
  return {
    call: async ({ id, turn, name, arguments: args }) => {
      const asked = new AIMessage({ id: turn, content: "", tool_calls: [{ id, name, args }] });
      const { messages } = (await node.invoke({ messages: [asked] })) as { readonly messages: readonly ToolMessage[] };
      return messages.map(({ text }) => text).join("\n");
    },
  };
});

/** A tool outside of an agent's run: Mastra names no response then. */
adapterContract(
  "Mastra",
  (runtime) => {
    countCalls(runtime);
    const { tools } = mastraTools(runtime, { createTool }, { runId: "run-1" });
    return {
      call: async ({ id, name, arguments: given }) => {
        const made = tools[name];
        if (made?.execute === undefined) return `There is no tool ${name}.`;
        const context = { toolCallId: id } as Partial<Parameters<typeof made.execute>[1]>;
        return String(await made.execute(given, context as never)); // the adapter reads nothing else
      },
    };
  },
  { hasTurns: false },
);

/** The runner names no response. */
adapterContract(
  "Anthropic's tool runner",
  (runtime) => {
    countCalls(runtime);
    const { tools } = anthropicRunnerTools(runtime, { runId: "run-1" });
    return {
      call: async ({ id, name, arguments: given }) => {
        const made = tools.find((one) => one.name === name);
        if (made === undefined) return `There is no tool ${name}.`;
        return JSON.stringify(await made.run(made.parse(given), { toolUse: { id } }));
      },
    };
  },
  { hasTurns: false },
);

/** A tool as a run of the library starts it: the count of responses is the turn. */
adapterContract("OpenAI Agents", (runtime) => {
  countCalls(runtime);
  const { tools } = openaiAgentsTools(runtime, { runId: "run-1" });
  const turns: string[] = [];
  return {
    call: async ({ id, turn, name, arguments: given }) => {
      const made = tools.find((one) => one.name === name);
      if (made === undefined) return `There is no tool ${name}.`;
      if (!turns.includes(turn)) turns.push(turn);
      const usage = { requests: turns.indexOf(turn), totalTokens: 0 };
      return JSON.stringify(await made.invoke({ usage }, JSON.stringify(given), { toolCall: { callId: id } as never })); // the adapter reads only these
    },
  };
});
