import { join } from "node:path";
import {
  Agent,
  type AgentInputItem,
  type Model,
  type ModelResponse,
  Runner,
  RunState,
  tool,
  Usage,
} from "@openai/agents";
import { afterAll, expect, it } from "vitest";
import { z } from "zod";
import { openaiAgentsTools, wrapOpenaiAgentsTools } from "../../packages/agents/src/openai-agents.ts";
import type { Risk } from "../../packages/core/src/call.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";
import { ownFolder, removeOwnFolders } from "../fakes/own-folder.ts";
import { bytesTool, expectEachBlock } from "./bytes-tool.ts";

afterAll(removeOwnFolders);

/** Asks for the calls of one turn and ends when it has read an answer. */
class OneTurn implements Model {
  readonly #calls: readonly { readonly name: string; readonly arguments: string }[];
  read: unknown;
  /** What the model has read of all calls. */
  results: readonly unknown[] = [];

  constructor(calls: readonly { readonly name: string; readonly arguments: string }[]) {
    this.#calls = calls;
  }

  async getResponse({ input }: { readonly input: string | AgentInputItem[] }): Promise<ModelResponse> {
    const last = Array.isArray(input) ? input.at(-1) : undefined;
    const items = Array.isArray(input) ? input : [];
    this.results = items.filter((item) => item.type === "function_call_result").map(({ output }) => output);
    if (last?.type === "function_call_result") {
      this.read = last.output;
      const content = [{ type: "output_text" as const, text: "done" }];
      return answer([{ type: "message", id: "m", role: "assistant", status: "completed", content }]);
    }
    return answer(
      this.#calls.map((call, i) => ({
        type: "function_call",
        id: `f${i}`,
        callId: `call_${i}`,
        status: "completed",
        ...call,
      })),
    );
  }

  async *getStreamedResponse(): AsyncGenerator<never> {
    yield await Promise.reject(new Error("this model does not stream"));
  }
}

function answer(output: ModelResponse["output"]): ModelResponse {
  return {
    usage: new Usage({ requests: 1, inputTokens: 5, outputTokens: 2, totalTokens: 7 }),
    responseId: "r",
    output,
  };
}

const runner = new Runner({ tracingDisabled: true });

interface Mail {
  readonly to: string;
}

async function mailRuntime(risk: Risk, store = "memory"): Promise<{ runtime: Runtime; sent: Mail[] }> {
  const sent: Mail[] = [];
  const runtime = await createRuntime({ store, approvals: { patience: "suspend" } });
  const sendMail = tool({
    name: "send_mail",
    description: "Sends a mail.",
    parameters: z.object({ to: z.string() }),
    errorFunction: null,
    execute: async (mail) => {
      sent.push(mail);
      return { messageId: sent.length };
    },
  });
  wrapOpenaiAgentsTools(runtime, [sendMail], { send_mail: { risk, effects: "write", idempotent: false } });
  return { runtime, sent };
}

function agentOf(runtime: Runtime, model: Model): Agent {
  const { tools } = openaiAgentsTools(runtime, { runId: "run-1" });
  return new Agent({ name: "assistant", instructions: "i", model, tools });
}

const toAda = { name: "send_mail", arguments: '{"to":"ada"}' };

it("runs a wrapped tool and gives the model its result", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const model = new OneTurn([toAda]);
  const result = await runner.run(agentOf(runtime, model), "go");
  expect(result.finalOutput).toBe("done");
  expect(sent).toEqual([{ to: "ada" }]);
  expect(model.read).toMatchObject({ text: '{"messageId":1}' });
  await runtime.close();
});

it("runs an approved call once when a stored state is resumed twice", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime, new OneTurn([toAda]));
  const state = (await runner.run(agent, "go")).state.toString();
  const [request] = await runtime.approvals.list();
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  const outputs = [await resume(agent, state), await resume(agent, state)];
  expect(outputs).toEqual(["done", "done"]);
  expect(sent).toEqual([{ to: "ada" }]);
  await runtime.close();
});

it("goes on waiting for a yes before the decision, and runs the stored state after it", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime, new OneTurn([toAda]));
  const state = (await runner.run(agent, "go")).state.toString();
  const waits = { error: { code: "approval_waits" } };
  await expect(resume(agent, state)).rejects.toMatchObject(waits);
  await decideAll(runtime, "approved");
  await expect(resume(agent, state.replaceAll("ada", "eve"))).rejects.toMatchObject(waits); // edited arguments
  expect(sent).toEqual([]);
  expect(await resume(agent, state)).toBe("done");
  expect(sent).toEqual([{ to: "ada" }]);
  await runtime.close();
});

async function resume(agent: Agent, stored: string): Promise<unknown> {
  const state = await RunState.fromString(agent, stored);
  for (const interruption of state.getInterruptions()) state.approve(interruption);
  return (await runner.run(agent, state)).finalOutput;
}

async function decideAll(runtime: Runtime, decision: "approved" | "denied", to?: string): Promise<void> {
  for (const { id, asked } of await runtime.approvals.list({ state: "pending" }))
    if (to === undefined || asked["to"] === to) await runtime.approvals.decide(id, { decision, by: { user: "grace" } });
}

it("answers the interruptions that a person has decided, in another process too", async () => {
  const store = `sqlite:${join(ownFolder(), "postern.db")}`;
  const calls = ["ann", "bob"].map((to) => ({ name: "send_mail", arguments: JSON.stringify({ to }) }));
  const first = await mailRuntime("high", store);
  const { state } = await runner.run(agentOf(first.runtime, new OneTurn(calls)), "go");
  const postern = openaiAgentsTools(first.runtime, { runId: "run-1" });
  expect(await postern.answer(state)).toBe(false);
  const stored = state.toString();
  await decideAll(first.runtime, "denied", "ann");
  await first.runtime.close();

  const { runtime, sent } = await mailRuntime("high", store);
  const again = openaiAgentsTools(runtime, { runId: "run-1" });
  const model = new OneTurn(calls);
  const agent = new Agent({ name: "assistant", instructions: "i", model, tools: again.tools });
  const restored = await RunState.fromString(agent, stored);
  expect(await again.answer(restored)).toBe(true);
  const held = await runner.run(agent, restored);
  expect(held.interruptions).toHaveLength(1); // bob's goes on waiting
  await decideAll(runtime, "approved", "bob");
  expect(await again.answer(held.state)).toBe(true);
  expect((await runner.run(agent, held.state)).finalOutput).toBe("done");
  expect(JSON.stringify(model.results)).toMatch(/A person \(grace\) denied.*messageId/);
  expect(sent).toEqual([{ to: "bob" }]);
  const rows = await runtime.calls.list({ tool: "send_mail" });
  expect(rows.map(({ joined }) => joined)).toEqual([undefined, undefined]); // the same turn each time
  await runtime.close();
});

it("withdraws Postern's request when the stored state is rejected in the library", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime, new OneTurn([toAda]));
  const state = await RunState.fromString(agent, (await runner.run(agent, "go")).state.toString());
  for (const interruption of state.getInterruptions()) state.reject(interruption);
  expect((await runner.run(agent, state)).finalOutput).toBe("done");
  expect(await runtime.approvals.list()).toMatchObject([{ state: "withdrawn" }]);
  await decideAll(runtime, "approved");
  await runner.run(agentOf(runtime, new OneTurn([toAda])), "go");
  expect(await runtime.approvals.list({ state: "pending" })).toHaveLength(1); // an equal call asks again
  expect(sent).toEqual([]);
  await runtime.close();
});

it("makes two requests for two equal calls of one response, and runs both", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime, new OneTurn([toAda, toAda]));
  const state = (await runner.run(agent, "go")).state.toString();
  expect(await runtime.approvals.list({ state: "pending" })).toHaveLength(2);
  await decideAll(runtime, "approved");
  await resume(agent, state);
  expect(sent).toHaveLength(2);
  await runtime.close();
});

it("runs an equal call of a later response again, also under the same id", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const { tools } = openaiAgentsTools(runtime, { runId: "run-1" });
  const send = tools.find(({ name }) => name === "send_mail");
  const toolCall = { callId: "call_0" };
  const usage = new Usage({ requests: 1, totalTokens: 7 });
  await send?.invoke({ usage }, toAda.arguments, { toolCall });
  await send?.invoke({ usage }, toAda.arguments, { toolCall }); // the same stored state again
  usage.add(new Usage({ requests: 1, totalTokens: 9 }));
  await send?.invoke({ usage }, toAda.arguments, { toolCall });
  expect(sent).toHaveLength(2);
  await runtime.close();
});

it("gives the model a line for a file, a sound and embedded bytes", async () => {
  const runtime = await createRuntime({ tools: [bytesTool("files")] });
  const model = new OneTurn([{ name: "files", arguments: "{}" }]);
  await runner.run(agentOf(runtime, model), "go");
  expectEachBlock(JSON.stringify(model.read));
  await runtime.close();
});

it("runs 64 calls of one turn, each once", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const calls = Array.from({ length: 64 }, (_, i) => ({
    name: "send_mail",
    arguments: JSON.stringify({ to: `p${i}` }),
  }));
  await runner.run(agentOf(runtime, new OneTurn(calls)), "go");
  expect(new Set(sent.map(({ to }) => to)).size).toBe(64);
  expect(sent).toHaveLength(64);
  await runtime.close();
});

it("counts a sub-agent's calls against its parent's budget and keeps its scopes", async () => {
  const runtime = await createRuntime();
  let scopes: readonly string[] = [];
  runtime.tools.register({
    ...{ name: "look", description: "Looks.", risk: "safe", idempotent: true },
    execute: (_input, { grantedScopes }) => {
      scopes = grantedScopes;
      return "seen";
    },
  });
  const child = tool({
    name: "ask_child",
    description: "Asks a sub-agent.",
    parameters: z.object({}),
    execute: async () => {
      const { tools } = openaiAgentsTools(runtime, { scopes: ["a", "everything"] });
      const only = tools.filter(({ name }) => name === "look");
      const agent = new Agent({ name: "child", model: new OneTurn([{ name: "look", arguments: "{}" }]), tools: only });
      return (await runner.run(agent, "go")).finalOutput;
    },
  });
  wrapOpenaiAgentsTools(runtime, [child], { ask_child: { risk: "safe", effects: "read", idempotent: false } });
  const postern = openaiAgentsTools(runtime, { runId: "run-1", scopes: ["a", "b"] });
  const model = new OneTurn([{ name: "ask_child", arguments: "{}" }]);
  await runner.run(new Agent({ name: "parent", model, tools: postern.tools }), "go");
  expect(postern.agentTools.session.callCount).toBe(2);
  expect(scopes).toEqual(["a"]);
  await runtime.close();
});
