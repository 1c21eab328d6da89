/** 64 calls of one turn in OpenAI Agents: the library alone, and with the same tool behind Postern. */
import { Agent, type AgentInputItem, type Model, type ModelResponse, Runner, tool, Usage } from "@openai/agents";
import { z } from "zod";
import type { TurnScene } from "../../../bench/agent-libraries.ts";
import { openaiAgentsTools, wrapOpenaiAgentsTools } from "../../../packages/agents/src/openai-agents.ts";
import { createRuntime } from "../../../packages/postern/src/runtime/create.ts";

const calls = 64;

/** Asks for all calls in its first turn and ends when it has read an answer. */
const model: Model = {
  getResponse: async ({ input }): Promise<ModelResponse> => {
    const last = Array.isArray(input) ? (input as AgentInputItem[]).at(-1) : undefined;
    const content = [{ type: "output_text" as const, text: "done" }];
    const output: ModelResponse["output"] =
      last?.type === "function_call_result"
        ? [{ type: "message", id: "m", role: "assistant", status: "completed", content }]
        : Array.from({ length: calls }, (_, i) => ({
            ...{ type: "function_call", id: `f${i}`, callId: `call_${i}`, name: "look", status: "completed" },
            arguments: JSON.stringify({ at: i }),
          }));
    return { usage: new Usage(), responseId: "r", output };
  },
  getStreamedResponse: () => {
    throw new Error("this model does not stream");
  },
};

const runner = new Runner({ tracingDisabled: true });

type Tools = NonNullable<ConstructorParameters<typeof Agent>[0]["tools"]>;

export async function openTurn(waitMs: number): Promise<TurnScene> {
  let ran = 0;
  const look = tool({
    ...{ name: "look", description: "Looks.", parameters: z.object({ at: z.number() }) },
    execute: async ({ at }) => {
      ran += 1;
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      return `seen ${at}`;
    },
  });
  const runtime = await createRuntime();
  wrapOpenaiAgentsTools(runtime, [look], { look: { risk: "safe", effects: "read", idempotent: true } });
  const run = async (tools: Tools): Promise<void> => {
    ran = 0;
    await runner.run(new Agent({ name: "assistant", model, tools }), "go");
    if (ran !== calls) throw new Error(`The tool ran ${ran} times, not ${calls} times.`);
  };
  let turn = 0;
  return {
    alone: () => run([look]),
    withPostern: async () => {
      await using postern = openaiAgentsTools(runtime, { runId: `turn-${turn++}` });
      await run(postern.tools);
    },
    close: () => runtime.close(),
  };
}
