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
import { expect, it } from "vitest";
import { z } from "zod";
import { openaiAgentsTools, wrapOpenaiAgentsTools } from "../../src/agents/openai-agents.ts";
import type { Risk } from "../../src/core/call.ts";
import type { Runtime } from "../../src/runtime/api.ts";
import { createRuntime } from "../../src/runtime/create.ts";

/** Asks for the calls of one turn and ends when it has read an answer. */
class OneTurn implements Model {
  readonly #calls: readonly { readonly name: string; readonly arguments: string }[];
  read: unknown;

  constructor(calls: readonly { readonly name: string; readonly arguments: string }[]) {
    this.#calls = calls;
  }

  async getResponse({ input }: { readonly input: string | AgentInputItem[] }): Promise<ModelResponse> {
    const last = Array.isArray(input) ? input.at(-1) : undefined;
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
  return { usage: new Usage(), responseId: "r", output };
}

const runner = new Runner({ tracingDisabled: true });

interface Mail {
  readonly to: string;
}

async function mailRuntime(risk: Risk): Promise<{ runtime: Runtime; sent: Mail[] }> {
  const sent: Mail[] = [];
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
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

it("runs nothing when the stored arguments were edited or no person decided", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime, new OneTurn([toAda]));
  const state = (await runner.run(agent, "go")).state.toString();
  await resume(agent, state);
  const [request] = await runtime.approvals.list();
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  await resume(agent, state.replaceAll("ada", "eve"));
  expect(sent).toEqual([]);
  await runtime.close();
});

async function resume(agent: Agent, stored: string): Promise<unknown> {
  const state = await RunState.fromString(agent, stored);
  for (const interruption of state.getInterruptions()) state.approve(interruption);
  return (await runner.run(agent, state)).finalOutput;
}

it("says to the model in words that a person must decide", async () => {
  const { runtime } = await mailRuntime("high");
  const model = new OneTurn([toAda]);
  const agent = agentOf(runtime, model);
  await resume(agent, (await runner.run(agent, "go")).state.toString());
  expect(JSON.stringify(model.read)).toContain("needs a person's approval");
  expect(JSON.stringify(model.read)).not.toContain("postern approvals");
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
