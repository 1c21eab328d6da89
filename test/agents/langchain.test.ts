import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createAgent, FakeToolCallingModel } from "langchain";
import { expect, it } from "vitest";
import { z } from "zod";
import { type LangChainInterrupt, langchainTools, wrapLangchainTools } from "../../packages/agents/src/langchain.ts";
import type { Risk } from "../../packages/core/src/call.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";
import { bytesTool, expectEachBlock } from "./bytes-tool.ts";

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
  expect(textsOf(end)).toMatch(/do not fit `send_mail`.*\bto\b/s);
  expect(sent).toEqual([]);
  expect(await runtime.audit.query({ type: "tool_call.refused" })).toHaveLength(1);
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

it("pauses again when the graph is resumed before the decision, and runs after it", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const graph = graphOf(runtime, true);
  await graph.invoke({ messages: [asks({ to: "ada" })] }, config);
  for (let i = 0; i < 2; i += 1) {
    await graph.invoke(new Command({ resume: true }), config);
    expect(await questions(graph)).toMatchObject([{ tool: "send_mail", arguments: { to: "ada" } }]);
  }
  await decideAll(runtime, "approved");
  const end = await graph.invoke(new Command({ resume: true }), config);
  expect(sent).toEqual(["ada"]);
  expect(textsOf(end)).toContain("sent to ada");
  await runtime.close();
});

it("pauses when a person has not decided while the call waited", async () => {
  const runtime = await createRuntime({ approvals: { patience: "wait" }, limits: { approvalWaitMs: 1 } });
  runtime.tools.register({
    ...{ name: "send_mail", description: "Sends.", risk: "high", effects: "write", idempotent: false },
    inputSchema: { type: "object", properties: { to: { type: "string" } } },
    execute: ({ to }) => `sent to ${String(to)}`,
  });
  const graph = graphOf(runtime, true);
  await graph.invoke({ messages: [asks({ to: "ada" })] }, config);
  expect(await questions(graph)).toMatchObject([{ tool: "send_mail" }]);
  await runtime.close();
});

/** What the paused graph asks. */
async function questions(graph: Pick<ReturnType<typeof graphOf>, "getState">): Promise<LangChainInterrupt[]> {
  const { tasks } = await graph.getState(config);
  return tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value as LangChainInterrupt));
}

async function decideAll(runtime: Runtime, decision: "approved" | "denied", to?: string): Promise<void> {
  for (const { id, asked } of await runtime.approvals.list({ state: "pending" }))
    if (to === undefined || asked["to"] === to) await runtime.approvals.decide(id, { decision, by: { user: "grace" } });
}

interface Asked {
  readonly id: string;
  readonly to: string;
}

/** A model that asks for the calls of each turn, and ends; then a tool node. */
function loopOf(runtime: Runtime, turns: readonly (readonly Asked[])[], checkpointer = new MemorySaver()) {
  const { tools } = langchainTools(runtime, { tool, interrupt }, { runId: "thread-1" });
  const model = ({ messages }: typeof MessagesAnnotation.State) => {
    const calls = turns[messages.filter((message) => message.type === "ai").length] ?? [];
    const tool_calls = calls.map(({ id, to }) => ({ id, name: "send_mail", args: { to } }));
    return { messages: [new AIMessage({ content: "", tool_calls })] };
  };
  const isDone = ({ messages }: typeof MessagesAnnotation.State): boolean => {
    const last = messages.at(-1);
    return !AIMessage.isInstance(last) || last.tool_calls?.length === 0;
  };
  return new StateGraph(MessagesAnnotation)
    .addNode("model", model)
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "model")
    .addConditionalEdges("model", (state) => (isDone(state) ? END : "tools"))
    .addEdge("tools", "model")
    .compile({ checkpointer });
}

const start = { messages: [{ role: "user", content: "go" }] };
const go = (value: unknown = true): Command<unknown, Record<string, unknown>, never> => new Command({ resume: value });

/** Status and text of each tool message, by call id. */
function answersIn({ messages }: { messages: BaseMessage[] }): Record<string, string> {
  const answers = messages.filter((message) => ToolMessage.isInstance(message));
  return Object.fromEntries(answers.map(({ tool_call_id: id, status, text }) => [id, `${status}: ${text}`]));
}

const annAndBob = [
  { id: "c1", to: "ann" },
  { id: "c2", to: "bob" },
] as const;

it("asks for each waiting call of one response, and marks a denied one as an error", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const checkpointer = new MemorySaver();
  const graph = loopOf(runtime, [annAndBob], checkpointer);
  await graph.invoke(start, config);
  expect(await runtime.approvals.list({ state: "pending" })).toHaveLength(2);
  await decideAll(runtime, "denied", "ann");
  await graph.invoke(go(), config);
  expect(await questions(graph)).toMatchObject([{ arguments: { to: "bob" } }]);
  await decideAll(runtime, "approved", "bob");
  const elsewhere = loopOf(runtime, [annAndBob], checkpointer); // as after a restart
  const end = await elsewhere.invoke(go(), config);
  expect(answersIn(end)).toEqual({
    c1: expect.stringMatching(/^error: A person \(grace\) denied/),
    c2: expect.stringMatching(/^success: .*sent to bob$/s),
  });
  expect(sent).toEqual(["bob"]);
  const rows = await runtime.calls.list({ tool: "send_mail" });
  expect(rows.map(({ joined }) => joined)).toEqual([undefined, undefined]); // the same turn each time
  const stored = answersIn((await elsewhere.getState(config)).values as typeof MessagesAnnotation.State);
  expect(stored["c1"]).toMatch(/^error/);
  await runtime.close();
});

it.each([false, { approved: false, reason: "not ann" }])(
  "takes the user's no %j for the call that was asked",
  async (no) => {
    const { runtime, sent } = await mailRuntime("high");
    const graph = loopOf(runtime, [annAndBob]);
    await graph.invoke(start, config);
    const [{ arguments: first } = {}] = await questions(graph);
    expect(first).toEqual({ to: "ann" });
    await graph.invoke(go(), config); // too early
    await graph.invoke(go(no), config);
    expect(await questions(graph)).toMatchObject([{ arguments: { to: "bob" } }]);
    await decideAll(runtime, "approved"); // what is open in the console now
    const end = await graph.invoke(go(), config);
    expect(answersIn(end)["c1"]).toMatch(/^error: Not run: the user refused this call/);
    expect(sent).toEqual(["bob"]);
    const states = (await runtime.approvals.list())
      .filter(({ asked }) => asked["to"] === "ann")
      .map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(["withdrawn"]));
    await runtime.close();
  },
);

it("gives a no to its own call although another one was approved meanwhile", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const graph = loopOf(runtime, [annAndBob]);
  await graph.invoke(start, config);
  await decideAll(runtime, "approved", "ann"); // the console was faster than the user's no
  await graph.invoke(go(false), config);
  expect(await questions(graph)).toMatchObject([{ arguments: { to: "bob" } }]);
  expect(sent).toEqual([]);
  await runtime.close();
});

it("makes two requests for two equal calls of one response, and runs both", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const graph = loopOf(runtime, [["c1", "c2"].map((id) => ({ id, to: "ada" }))]);
  await graph.invoke(start, config);
  expect(await runtime.approvals.list({ state: "pending" })).toHaveLength(2);
  await decideAll(runtime, "approved");
  for (let i = 0; i < 3 && (await questions(graph)).length > 0; i += 1) await graph.invoke(go(), config);
  expect(sent).toEqual(["ada", "ada"]);
  await runtime.close();
});

function toolNamed(wanted: string, runtime: Runtime) {
  const { tools } = langchainTools(runtime, { tool }, { runId: "thread-1" });
  return tools.find(({ name }) => name === wanted) as unknown as
    | { invoke(call: object, config?: object): Promise<ToolMessage> }
    | undefined;
}

it("runs an equal call of a later response again, also under the same id", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const send = toolNamed("send_mail", runtime);
  const call = { id: "call_0", name: "send_mail", args: { to: "ada" }, type: "tool_call" };
  const stateOf = (id: string) => ({
    state: { messages: [new AIMessage({ id, content: "", tool_calls: [call as never] })] },
  });
  await send?.invoke(call, stateOf("m1"));
  await send?.invoke(call, stateOf("m1")); // the same stored state again
  await send?.invoke(call, stateOf("m2"));
  expect(sent).toEqual(["ada", "ada"]);
  await runtime.close();
});

it("pauses each call of an agent of the library by itself", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const { tools } = langchainTools(runtime, { tool, interrupt }, { runId: "thread-1" });
  const model = new FakeToolCallingModel({
    toolCalls: [
      annAndBob.map(({ id, to }) => ({ id, name: "send_mail", args: { to }, type: "tool_call" as const })),
      [],
    ],
  });
  const agent = createAgent({ model, tools, checkpointer: new MemorySaver() });
  await agent.invoke(start, config);
  expect(await questions(agent.graph as never)).toHaveLength(2);
  await decideAll(runtime, "denied", "ann");
  await decideAll(runtime, "approved", "bob");
  const [one, two] = (await agent.graph.getState(config)).tasks.flatMap(({ interrupts }) => interrupts);
  const end = await agent.invoke(new Command({ resume: { [one?.id ?? ""]: true, [two?.id ?? ""]: true } }), config);
  expect(answersIn(end)).toMatchObject({
    c1: expect.stringMatching(/^error: A person/),
    c2: expect.stringMatching(/^success: .*sent to bob/s),
  });
  expect(sent).toEqual(["bob"]);
  await runtime.close();
});

it("gives the model a line for a file, a sound and embedded bytes", async () => {
  const runtime = await createRuntime({ tools: [bytesTool("files")] });
  const message = await toolNamed("files", runtime)?.invoke({ id: "c1", name: "files", args: {}, type: "tool_call" });
  expectEachBlock(message?.text ?? "");
  await runtime.close();
});
