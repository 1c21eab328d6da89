/** The turn of a call in a loop of one's own: which response of the provider holds it. */
import { describe, expect, it } from "vitest";
import { anthropicToolUses } from "../../packages/agents/src/anthropic.ts";
import { googleToolUses } from "../../packages/agents/src/google.ts";
import { type AgentTools, openAgentTools, type ToolUse } from "../../packages/agents/src/index.ts";
import { openaiChatToolUses, openaiToolUses } from "../../packages/agents/src/openai.ts";
import { createRuntime, defineTool, type Runtime } from "../../packages/postern/src/index.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

interface Called {
  readonly id: string;
  readonly name: string;
}

/** A response with these calls, as each provider sends it. */
const responses: Readonly<Record<string, (turn: string, calls: readonly Called[]) => ToolUse[]>> = {
  openai: (id, calls) =>
    openaiToolUses({
      ...{ id },
      output: calls.map((call) => ({ type: "function_call", call_id: call.id, name: call.name, arguments: "{}" })),
    }),
  "openai chat": (id, calls) =>
    openaiChatToolUses({
      ...{ id },
      choices: [
        {
          message: {
            tool_calls: calls.map((call) => ({ id: call.id, function: { name: call.name, arguments: "{}" } })),
          },
        },
      ],
    }),
  anthropic: (id, calls) =>
    anthropicToolUses({ id, content: calls.map((call) => ({ type: "tool_use", ...call, input: {} })) }),
  google: (responseId, calls) =>
    googleToolUses({
      ...{ responseId },
      candidates: [{ content: { parts: calls.map((call) => ({ functionCall: { ...call, args: {} } })) } }],
    }),
  "google without ids": (responseId, calls) =>
    googleToolUses({
      ...{ responseId },
      candidates: [{ content: { parts: calls.map(({ name }) => ({ functionCall: { name, args: {} } })) } }],
    }),
  "a list and a stated turn": (turn, calls) =>
    openaiToolUses(
      calls.map((call) => ({ type: "function_call", call_id: call.id, name: call.name, arguments: "{}" })),
      turn,
    ),
};

interface Opened extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly tools: AgentTools;
  readonly ran: string[];
}

async function opened(kind: (typeof storeKinds)[number]): Promise<Opened> {
  const ran: string[] = [];
  const toolOf = (name: string, risk: "safe" | "high") =>
    defineTool({
      ...{ name, description: "Counts.", risk, effects: "write", idempotent: false },
      execute: () => `${name} ${ran.push(name)}`,
    });
  const tools = [toolOf("click", "safe"), toolOf("order", "high")];
  const runtime = await createRuntime({ store: newStore(kind), tools, approvals: { patience: "suspend" } });
  const opened = openAgentTools(runtime, { runId: "run-1" });
  const close = async (): Promise<void> => {
    await opened[Symbol.asyncDispose]();
    await runtime.close();
  };
  return { runtime, tools: opened, ran, [Symbol.asyncDispose]: close };
}

const click = { id: "call_0", name: "click" };

describe.each(storeKinds)("in %s", (kind) => {
  it.each(Object.keys(responses))("%s: runs a repeated call id again in a later response", async (key) => {
    await using at = await opened(kind);
    for (const turn of ["resp_1", "resp_2"]) await at.tools.callAll(responses[key]?.(turn, [click]) ?? []);
    expect(at.ran).toHaveLength(2);
    const [again] = await at.tools.callAll(responses[key]?.("resp_2", [click]) ?? []);
    expect(again?.text).toMatch(/^This is the answer of the same call made before .*\n\nclick 2$/s);
    expect(at.ran).toHaveLength(2);
  });

  it.each(Object.keys(responses))("%s: asks twice about two equal calls of one response", async (key) => {
    await using at = await opened(kind);
    const uses = ["call_0", "call_1"].map((id) => ({ id, name: "order" }));
    const asked = await at.tools.callAll(responses[key]?.("resp_1", uses) ?? []);
    const ids = asked.map(({ outcome }) => outcome.approvalId ?? "");
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) await at.runtime.approvals.decide(id, { decision: "approved", by: { user: "ada" } });
    for (let i = 0; i < 2; i += 1) await at.tools.callAll(responses[key]?.("resp_1", uses) ?? []);
    expect(at.ran).toEqual(["order", "order"]);
  });
});

it("takes the id of the first call for the turn of a list alone", () => {
  const calls = ["a", "b"].map((call_id) => ({ type: "function_call", call_id, name: "click", arguments: "{}" }));
  expect(openaiToolUses(calls)).toMatchObject([
    { id: "a", turn: "a" },
    { id: "b", turn: "a" },
  ]);
});
