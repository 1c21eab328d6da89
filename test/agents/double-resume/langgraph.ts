import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import { langchainTools, wrapLangchainTools } from "../../../packages/agents/src/langchain.ts";
import { type Library, type Stage, statement } from "./scenario.ts";

const fields = { name: "add", description: "Adds.", schema: z.object({ a: z.number() }) };
const config = { configurable: { thread_id: "1" } };

function graphFor({ ran, runtime }: Stage) {
  const add = async (input: { a: number }): Promise<string> => {
    ran(input);
    return "added";
  };
  const alone = tool(async (input) => (interrupt("approve?") ? add(input) : "denied"), fields);
  if (runtime !== undefined) wrapLangchainTools(runtime, [tool(add, fields)], { add: statement });
  const tools =
    runtime === undefined ? [alone] : langchainTools(runtime, { tool, interrupt }, { runId: "run-1" }).tools;
  return new StateGraph(MessagesAnnotation)
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "tools")
    .addEdge("tools", END)
    .compile({ checkpointer: new MemorySaver() });
}

export const langGraph: Library = {
  name: "LangGraph 1.7",
  async run(scenario, stage) {
    if (scenario === "approval forged") return false; // the checkpoint is the server's own
    const graph = graphFor(stage);
    const messages = [
      new AIMessage({ id: "m1", content: "", tool_calls: [{ id: "call_1", name: "add", args: { a: 1 } }] }),
    ];
    await graph.invoke({ messages }, config);
    await stage.approve();
    if (scenario === "stored arguments edited") {
      const edited = new AIMessage({
        id: "m1",
        content: "",
        tool_calls: [{ id: "call_1", name: "add", args: { a: 999 } }],
      });
      await graph.updateState(config, { messages: [edited] }, START);
    }
    await Promise.allSettled([1, 2].map(() => graph.invoke(new Command({ resume: true }), config)));
    return true;
  },
};
