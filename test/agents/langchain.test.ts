import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { expect, it } from "vitest";
import { z } from "zod";
import { langchainTools, wrapLangchainTools } from "../../src/agents/langchain.ts";
import type { Risk } from "../../src/core/call.ts";
import type { Runtime } from "../../src/runtime/api.ts";
import { createRuntime } from "../../src/runtime/create.ts";

async function mailRuntime(risk: Risk): Promise<{ runtime: Runtime; sent: string[] }> {
  const sent: string[] = [];
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
  const fields = { name: "send_mail", description: "Sends a mail.", schema: z.object({ to: z.string() }) };
  const sendMail = tool(async ({ to }) => {
    sent.push(to);
    return `sent to ${to}`;
  }, fields);
  const log = tool(async () => "logged", { name: "log", description: "Logs.", schema: z.object({}) });
  wrapLangchainTools(runtime, [sendMail, log], {
    send_mail: { risk, effects: "write", idempotent: false },
    log: { risk: "safe", idempotent: false },
  });
  return { runtime, sent };
}

function asks(args: object): AIMessage {
  const calls = [
    { id: "call_1", name: "send_mail", args },
    { id: "call_2", name: "log", args: {} },
  ];
  return new AIMessage({ content: "", tool_calls: calls });
}

function graphOf(runtime: Runtime, pauses: boolean) {
  const { tools } = langchainTools(runtime, pauses ? { tool, interrupt } : { tool }, { runId: "thread-1" });
  return new StateGraph(MessagesAnnotation)
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "tools")
    .addEdge("tools", END)
    .compile({ checkpointer: new MemorySaver() });
}

const config = { configurable: { thread_id: "1" } };

function textsOf({ messages }: { messages: BaseMessage[] }): string {
  return messages.map(({ content }) => String(content)).join("\n");
}

it("runs a wrapped tool in a tool node", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const end = await graphOf(runtime, false).invoke({ messages: [asks({ to: "ada" })] }, config);
  expect(textsOf(end)).toContain("sent to ada");
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

it("tells the model what is wrong with arguments", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const end = await graphOf(runtime, false).invoke({ messages: [asks({ to: 1 })] }, config);
  expect(textsOf(end)).toMatch(/to/);
  expect(sent).toEqual([]);
  await runtime.close();
});

it("pauses the graph, and runs an approved call once when it is resumed twice at once", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const graph = graphOf(runtime, true);
  await graph.invoke({ messages: [asks({ to: "ada" })] }, config);
  const [request] = await runtime.approvals.list();
  const [pause] = (await graph.getState(config)).tasks.flatMap(({ interrupts }) => interrupts);
  expect(pause?.value).toMatchObject({ approval_id: request?.id, tool: "send_mail", arguments: { to: "ada" } });
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  await Promise.allSettled([1, 2].map(() => graph.invoke(new Command({ resume: true }), config)));
  await graph.invoke(new Command({ resume: true }), config).catch(() => undefined);
  expect(sent).toEqual(["ada"]);
  const logged = (await runtime.calls.list()).filter((call) => call.call.tool === "log");
  expect(logged).toHaveLength(1);
  await runtime.close();
});

it("runs nothing when the graph is resumed before a person decided", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const graph = graphOf(runtime, true);
  await graph.invoke({ messages: [asks({ to: "ada" })] }, config);
  const end = await graph.invoke(new Command({ resume: true }), config);
  expect(sent).toEqual([]);
  expect(textsOf(end)).toContain("needs a person's approval");
  await runtime.close();
});
