/** An adapter for an agent library that Postern does not know, written only with what a stranger can import. */
import { openAgentTools, type ToolUse } from "@postern/agents";
import { CallRefused, createRuntime, defineTool, type Runtime } from "postern";
import { autoApprover } from "postern/approvals";
import { openFiles, textEdits } from "postern/builtin";
import { openRequestOf, renderOutcome } from "postern/results";
import { adapterContract } from "postern/testing";
import { expect, it } from "vitest";
import { ownFolder } from "../fakes/own-folder.ts";

/** The tenth library: a tool is a name, a schema, and a function that gets an id, text, and the number of the response. */
interface TenthTool {
  readonly title: string;
  readonly schema: object;
  run(callId: string, json: string, response?: string): Promise<string>;
}

/** The adapter. The runtime's tools, in the form of the library. */
function tenthTools(runtime: Runtime, context: Parameters<typeof openAgentTools>[1]): readonly TenthTool[] {
  const agentTools = openAgentTools(runtime, context);
  return agentTools.list().map(({ name, parameters }) => ({
    title: name,
    schema: parameters,
    run: async (id, json, turn = id) => {
      const use: ToolUse = { id, turn, name, arguments: json };
      const { isError, outcome, text } = await agentTools.call(use);
      const waiting = openRequestOf(outcome);
      if (waiting !== undefined) return `waits for ${waiting.id}`;
      if (isError) throw new CallRefused(outcome, text);
      return text;
    },
  }));
}

for (const hasTurns of [true, false])
  adapterContract(
    `a tenth library ${hasTurns ? "with" : "without"} numbers of responses`,
    (runtime) => {
      const tools = tenthTools(runtime, { runId: "tenth" });
      return {
        call: async ({ id, turn, name, arguments: given }) => {
          const tool = tools.find(({ title }) => title === name);
          if (tool === undefined) return `There is no tool ${name}.`;
          return tool.run(id, JSON.stringify(given), hasTurns ? turn : undefined);
        },
      };
    },
    { hasTurns },
  );

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  execute: (given) => {
    const { a, b } = given as { readonly a: number; readonly b: number };
    return String(a + b);
  },
});

it("offers tools to a tenth library and runs its calls", async () => {
  await using runtime = await createRuntime({ tools: [add] });
  const [tool] = tenthTools(runtime, { runId: "tenth" });
  expect(tool?.title).toBe("add");
  expect(await tool?.run("call_1", '{"a":2,"b":3}')).toBe("5");
  await expect(tool?.run("call_2", '{"a":"two"}')).rejects.toThrow(CallRefused);
});

it("tells a tenth library which request waits", async () => {
  const send = { ...add, name: "send", risk: "high", effects: "write" } as const;
  await using runtime = await createRuntime({ tools: [send], approvals: { patience: "suspend" } });
  const [tool] = tenthTools(runtime, { runId: "tenth" });
  const [open, before] = [await tool?.run("call_1", '{"a":2,"b":3}'), await runtime.approvals.list({})];
  expect(open).toBe(`waits for ${before[0]?.id}`);
});

it("renders an outcome for a model without an agent session", async () => {
  await using runtime = await createRuntime({ tools: [add] });
  const outcome = await runtime.invoke({ tool: "add", arguments: { a: 1, b: 1 } });
  expect(renderOutcome(outcome, { tool: "add" })).toMatchObject({ text: "2", isError: false });
});

it("guards the files of a stranger's editing tool", async () => {
  const folder = ownFolder();
  const files = openFiles({ roots: { docs: { path: folder, writable: true } }, write: true, notRaceSafe: true });
  const shout = defineTool({
    name: "shout",
    description: `Replaces a text by capitals. ${files.description}`,
    ...({ risk: "medium", effects: "write", idempotent: false } as const),
    inputSchema: { type: "object", properties: { path: { type: "string" }, word: { type: "string" } } },
    classifyRisk: (given) => files.target((given as { readonly path: string }).path),
    execute: (given, context) => {
      const { path, word } = given as { readonly path: string; readonly word: string };
      const edit = { old_text: word, new_text: word.toUpperCase() };
      return files.answer(path, context, () =>
        files.revise({ path }, (text) => textEdits.replaced(text, edit), context),
      );
    },
  });
  const write = defineTool({
    name: "write",
    description: "Writes a file.",
    ...({ risk: "medium", effects: "write", idempotent: false } as const),
    inputSchema: { type: "object" },
    execute: (_given, context) => files.create({ path: "docs/a.txt", content: "one two one\n" }, context),
  });
  await using runtime = await createRuntime({
    tools: [shout, write],
    approvals: { patience: "wait", approver: autoApprover() },
  });
  await runtime.invoke({ tool: "write", arguments: {} });
  const shouted = await runtime.invoke({ tool: "shout", arguments: { path: "docs/a.txt", word: "two" } });
  const twice = await runtime.invoke({ tool: "shout", arguments: { path: "docs/a.txt", word: "one" } });
  const outside = await runtime.invoke({ tool: "shout", arguments: { path: "../a.txt", word: "two" } });
  expect(shouted.status).toBe("ok");
  expect(twice.text).toContain("holds the text 2 times");
  expect(outside.text).toContain("holds `..`");
});
