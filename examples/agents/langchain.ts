/** LangChain and LangGraph: a tool you have, behind the gate. A graph that is resumed twice at once runs the call once. */
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { langchainTools, wrapLangchainTools } from "@postern/agents/langchain";
import { createRuntime } from "postern";
import { z } from "zod";

const sendEmail = tool(
  async ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return `sent to ${to}`;
  },
  { name: "send_email", description: "Sends a mail.", schema: z.object({ to: z.string() }) },
);

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
wrapLangchainTools(runtime, [sendEmail], { send_email: { risk: "high", effects: "write", idempotent: false } });
await using postern = langchainTools(runtime, { tool, interrupt }, { runId: "thread-42" });

/** A stand-in for a model, so that this runs offline. */
const model = async ({ messages }: typeof MessagesAnnotation.State) => {
  const isAnswered = messages.at(-1)?.type === "tool";
  const call = { id: "call_1", name: "send_email", args: { to: "ada@example.org" } };
  return { messages: [new AIMessage(isAnswered ? "Ada has the mail." : { content: "", tool_calls: [call] })] };
};

const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", model)
  .addNode("tools", new ToolNode(postern.tools))
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) => ((messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END))
  .addEdge("tools", "model")
  .compile({ checkpointer: new MemorySaver() });

const config = { configurable: { thread_id: "42" } };
await graph.invoke({ messages: [{ role: "user", content: "Tell Ada hello." }] }, config);
console.log((await graph.getState(config)).tasks[0]?.interrupts[0]?.value);

// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

const resume = () => graph.invoke(new Command({ resume: true }), config);
const ends = await Promise.all([resume(), resume()]); // twice at once, but only one mail
for (const { messages } of ends) console.log(messages.at(-1)?.content);
