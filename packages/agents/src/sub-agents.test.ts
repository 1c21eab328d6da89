/** What an agent may use, in its own calls, its scripts and its sub-agents. */
import { expect, it } from "vitest";
import type { Runtime } from "../../postern/src/runtime/api/api.ts";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import type { LocalTool } from "../../postern/src/tools/kinds.ts";
import { Toolbox } from "../../postern/src/tools/toolbox.ts";
import { type AgentContext, type AgentTools, openAgentTools } from "./agent-tools.ts";
import { createAgent } from "./loop.ts";
import { scriptedModel } from "./model.ts";

const ran: string[] = [];

function tool(name: string, more: Partial<LocalTool> = {}): LocalTool {
  return {
    ...{ name, description: `Does ${name}.`, risk: "safe", effects: "write", idempotent: false },
    inputSchema: { type: "object" },
    execute: () => {
      ran.push(name);
      return `${name} done`;
    },
    ...more,
  };
}

async function opened(tools: readonly LocalTool[], more: object = {}): Promise<Runtime> {
  ran.length = 0;
  return createRuntime({ tools: [...tools], approvals: { patience: "suspend" }, ...more });
}

/** What a sub-agent that a tool of an agent opens gets. */
async function inside(
  runtime: Runtime,
  outer: AgentContext,
  inner: AgentContext,
  use: (tools: AgentTools) => Promise<void>,
): Promise<unknown> {
  let failure: unknown;
  const execute = async (): Promise<string> => {
    try {
      await use(openAgentTools(runtime, inner));
    } catch (error) {
      failure = error;
    }
    return "asked";
  };
  runtime.tools.register(tool("ask", { execute }));
  await using tools = openAgentTools(runtime, outer);
  expect((await tools.call({ id: "1", name: "ask" })).text).toBe("asked");
  return failure;
}

it("refuses a tool outside the agent's toolbox, which the runtime has", async () => {
  await using runtime = await opened([tool("b")]);
  const model = scriptedModel([{ uses: [{ name: "b" }, { name: "a" }] }, { text: "Done." }]);
  const answers: string[] = [];
  await createAgent({ runtime, model, tools: [tool("a")] }).run(
    { prompt: "Go." },
    { onEvent: (event) => void (event.type === "tool_answer" && answers.push(event.answer.text)) },
  );
  expect(answers).toEqual([expect.stringContaining("`b` is not one of your tools"), "a done"]);
  expect(ran).toEqual(["a"]);
  const refused = await runtime.audit.query({ type: "tool_call.refused" });
  expect(refused).toHaveLength(1);
});

it("holds the toolbox in the scripts of the agent", async () => {
  await using runtime = await opened([tool("a"), tool("b")], { chains: {} });
  await using tools = openAgentTools(runtime, { tools: ["a", "tool_chain"], autonomy: "A4" });
  expect(tools.list().find(({ name }) => name === "tool_chain")?.description).not.toContain("tools.b");
  const source = 'const one = await tools.a({}); try { await tools["b"]({}); } catch (e) { return e.message }';
  const answer = await tools.call({ name: "tool_chain", arguments: { language: "javascript", code: source } });
  expect(answer.text).toContain("b");
  expect(ran).not.toContain("b");
});

it("lets a tool of the box use other tools", async () => {
  await using runtime = await opened([tool("b")]);
  runtime.tools.register(tool("a", { execute: async (_, { call }) => (await call({ tool: "b" })).text }));
  await using tools = openAgentTools(runtime, { tools: ["a"] });
  expect((await tools.call({ name: "a" })).text).toBe("b done");
});

it("counts a tool that is added to the box later", async () => {
  await using runtime = await opened([tool("a"), tool("b")]);
  const box = new Toolbox([tool("a")]);
  await using tools = openAgentTools(runtime, { tools: box });
  expect((await tools.call({ name: "b" })).isError).toBe(true);
  box.add(tool("b"));
  expect((await tools.call({ name: "b" })).text).toBe("b done");
});

it("refuses a deferred tool that the model has not found yet", async () => {
  await using runtime = await opened([]);
  const model = scriptedModel([
    { uses: [{ name: "b" }] },
    { uses: [{ name: "tool_search", arguments: { query: "b" } }] },
    { uses: [{ name: "b" }] },
    { text: "Done." },
  ]);
  const box = [tool("a"), tool("b", { deferLoading: true })];
  await createAgent({ runtime, model, tools: box }).run({ prompt: "Go." });
  expect(ran).toEqual(["b"]);
});

it("narrows a sub-agent by its number of calls, and counts them for the agent that calls it too", async () => {
  await using runtime = await opened([tool("a")]);
  await inside(runtime, { limits: { maxToolCalls: 10 } }, { limits: { maxToolCalls: 1 } }, async (tools) => {
    const [first, second] = [await tools.call({ name: "a" }), await tools.call({ name: "a" })];
    expect([first.text, second.outcome.refusal?.code]).toEqual(["a done", "budget_exhausted"]);
  });
  await using tools = openAgentTools(runtime, { limits: { maxToolCalls: 2 } });
  runtime.tools.register(
    tool("ask_again", {
      execute: async () => {
        await using child = openAgentTools(runtime, { limits: { maxToolCalls: 50 } });
        return (await child.call({ name: "a" })).text;
      },
    }),
  );
  expect((await tools.call({ name: "ask_again" })).text).toBe("a done");
  expect((await tools.call({ name: "a" })).outcome.refusal?.message).toContain("budget of 2 calls");
});

it("narrows a sub-agent by the risk from which a person is asked", async () => {
  await using runtime = await opened([tool("a", { risk: "medium" })], { limits: { maxRiskUnapproved: "medium" } });
  const asked = async (tools: AgentTools): Promise<void> =>
    expect((await tools.call({ name: "a" })).outcome.status).toBe("pending");
  expect(await inside(runtime, {}, { approvalRequiredRisk: "high" }, asked)).toBeUndefined();
});

it("means by approvalRequiredRisk what a policy means by it", async () => {
  const risky = [tool("m", { risk: "medium" }), tool("h", { risk: "high" })];
  const statuses = async (
    policy: "medium" | "high" | "critical",
    approvalRequiredRisk?: "medium" | "high" | "critical",
  ): Promise<readonly string[]> => {
    const options = { policy: { approvalRequiredRisk: policy }, limits: { maxRiskUnapproved: "medium" } } as const;
    await using runtime = await opened(risky, options);
    await using tools = openAgentTools(runtime, approvalRequiredRisk === undefined ? {} : { approvalRequiredRisk });
    const calls = ["m", "h"].map((name) => tools.call({ name }, { patience: "suspend" }));
    return (await Promise.all(calls)).map(({ outcome }) => outcome.status);
  };
  const asked = ["pending", "pending"];
  expect(await statuses("high")).toEqual(asked);
  for (const required of ["medium", "high"] as const) expect(await statuses("critical", required)).toEqual(asked);
});

it("cannot widen anything in a child of a child", async () => {
  const risky = [tool("a", { scopes: ["one"] }), tool("b", { scopes: ["two"] }), tool("c")];
  await using runtime = await opened(risky, { limits: { maxRiskUnapproved: "high" } });
  await using tools = openAgentTools(runtime, { scopes: ["one", "two"], tools: ["a", "b"] });
  const child = tools.child({ scopes: ["one"], tools: ["a", "c"], limits: { maxToolCalls: 3 } });
  const grandchild = child.child({ scopes: ["one", "two"], tools: ["a", "b", "c"], limits: { maxToolCalls: 9 } });
  const codes: (string | undefined)[] = [];
  for (const name of ["a", "b", "c", "a"]) codes.push((await grandchild.call({ name })).outcome.refusal?.code);
  expect(codes).toEqual([undefined, "tool_unknown", "tool_unknown", "budget_exhausted"]);
  const wide = tools.child({ scopes: ["one"] }).child({ scopes: ["one", "two"] });
  expect((await wide.call({ name: "b" })).outcome.refusal?.code).toBe("scope_missing");
});

it("refuses skills of a sub-agent, and says what narrows it", async () => {
  await using runtime = await opened([]);
  const failure = await inside(runtime, {}, { skills: ["mailer"] }, async () => {});
  expect(failure).toMatchObject({ code: "context_invalid", message: expect.stringContaining("`tools`") });
});
