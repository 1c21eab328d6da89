import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { expect, it } from "vitest";
import { z } from "zod";
import { mastraTools, wrapMastraTools } from "../../src/agents/mastra.ts";
import type { Risk } from "../../src/core/call.ts";
import type { Runtime } from "../../src/runtime/api.ts";
import { createRuntime } from "../../src/runtime/create.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the tool once and ends when it has read an answer. */
function model(): MockLanguageModelV4 {
  const doStream: MockLanguageModelV4["doStream"] = async ({ prompt }) => {
    const isAnswered = prompt.at(-1)?.role === "tool";
    const said = isAnswered
      ? [
          { type: "text-start" as const, id: "1" },
          { type: "text-delta" as const, id: "1", delta: "done" },
          { type: "text-end" as const, id: "1" },
        ]
      : [{ type: "tool-call" as const, toolCallId: "call_1", toolName: "send_mail", input: '{"to":"ada"}' }];
    const finishReason = { unified: isAnswered ? ("stop" as const) : ("tool-calls" as const), raw: "" };
    const chunks = [
      { type: "stream-start" as const, warnings: [] },
      ...said,
      { type: "finish" as const, finishReason, usage },
    ];
    return { stream: convertArrayToReadableStream(chunks) };
  };
  const doGenerate: MockLanguageModelV4["doGenerate"] = async ({ prompt }) => {
    const isAnswered = prompt.at(-1)?.role === "tool";
    return {
      content: isAnswered
        ? [{ type: "text", text: "done" }]
        : [{ type: "tool-call", toolCallId: "call_1", toolName: "send_mail", input: '{"to":"ada"}' }],
      finishReason: { unified: isAnswered ? "stop" : "tool-calls", raw: "" },
      ...{ usage, warnings: [] },
    };
  };
  return new MockLanguageModelV4({ doStream, doGenerate });
}

async function mailRuntime(risk: Risk): Promise<{ runtime: Runtime; sent: string[] }> {
  const sent: string[] = [];
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
  const send_mail = createTool({
    ...{ id: "send_mail", description: "Sends a mail.", inputSchema: z.object({ to: z.string() }) },
    execute: async ({ to }) => {
      sent.push(to);
      return { sentTo: to };
    },
  });
  wrapMastraTools(runtime, { send_mail }, { send_mail: { risk, effects: "write", idempotent: false } });
  return { runtime, sent };
}

function agentOf(runtime: Runtime): Agent {
  const { tools } = mastraTools(runtime, { createTool }, { runId: "run-1" });
  const mock = model() as unknown as ConstructorParameters<typeof Agent>[0]["model"]; // Mastra wants streams of both
  const agent = new Agent({ id: "mailer", name: "mailer", instructions: "i", model: mock, tools });
  return new Mastra({ agents: { mailer: agent }, storage: new InMemoryStore(), logger: false }).getAgent("mailer");
}

it("runs a wrapped tool and gives the model its result", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const result = await agentOf(runtime).generate("go");
  expect(result.text).toBe("done");
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

it("runs an approved call once when it is approved twice at once", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime);
  const { runId } = await agent.generate("go");
  expect(sent).toEqual([]);
  const [request] = await runtime.approvals.list();
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  const approve = () => agent.approveToolCallGenerate({ runId: runId ?? "", toolCallId: "call_1" });
  await Promise.allSettled([approve(), approve()]);
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

it("runs nothing when only the library approves", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime);
  const { runId } = await agent.generate("go");
  await agent.approveToolCallGenerate({ runId: runId ?? "", toolCallId: "call_1" });
  expect(sent).toEqual([]);
  await runtime.close();
});
