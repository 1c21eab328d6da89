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
import { z } from "zod";
import { openaiAgentsTools, wrapOpenaiAgentsTools } from "../../../packages/agents/src/openai-agents.ts";
import { type Library, type Stage, statement } from "./scenario.ts";

const model: Model = {
  getResponse: async ({ input }): Promise<ModelResponse> => {
    const last = Array.isArray(input) ? (input as AgentInputItem[]).at(-1) : undefined;
    const said = { type: "message" as const, id: "m", role: "assistant" as const, status: "completed" as const };
    const call = { type: "function_call" as const, id: "f", callId: "call_1", name: "add", arguments: '{"a":1}' };
    const output: ModelResponse["output"] =
      last?.type === "function_call_result"
        ? [{ ...said, content: [{ type: "output_text", text: "done" }] }]
        : [{ ...call, status: "completed" }];
    return { usage: new Usage(), responseId: "r", output };
  },
  // biome-ignore lint/correctness/useYield: this model does not stream
  async *getStreamedResponse() {
    throw new Error("this model does not stream");
  },
};

const runner = new Runner({ tracingDisabled: true });

function agentFor({ ran, runtime }: Stage): Agent {
  const add = tool({
    ...{ name: "add", description: "Adds.", parameters: z.object({ a: z.number() }), needsApproval: true },
    execute: async (input) => {
      ran(input);
      return "added";
    },
  });
  if (runtime === undefined) return new Agent({ name: "x", model, tools: [add] });
  wrapOpenaiAgentsTools(runtime, [add], { add: statement });
  return new Agent({ name: "x", model, tools: openaiAgentsTools(runtime, { runId: "run-1" }).tools });
}

async function resume(agent: Agent, stored: string): Promise<void> {
  const state = await RunState.fromString(agent, stored);
  for (const interruption of state.getInterruptions()) state.approve(interruption);
  await runner.run(agent, state);
}

export const openaiAgents: Library = {
  name: "OpenAI Agents 0.20",
  async run(scenario, stage) {
    if (scenario === "approval forged") return false; // the state is the server's own
    const agent = agentFor(stage);
    const stored = (await runner.run(agent, "go")).state.toString();
    await stage.approve();
    if (scenario === "stored arguments edited") await resume(agent, stored.replaceAll('\\"a\\":1', '\\"a\\":999'));
    else for (let i = 0; i < 2; i += 1) await resume(agent, stored);
    return true;
  },
};
