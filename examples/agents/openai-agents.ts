/** OpenAI Agents: a tool you have, behind the gate. A stored run that is resumed twice runs the call once. */
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
import { openaiAgentsTools, wrapOpenaiAgentsTools } from "@postern/agents/openai-agents";
import { createRuntime } from "postern";
import { z } from "zod";

const sendEmail = tool({
  name: "send_email",
  description: "Sends a mail.",
  parameters: z.object({ to: z.string() }),
  errorFunction: null, // failures are recorded as failures
  execute: async ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return `sent to ${to}`;
  },
});

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
wrapOpenaiAgentsTools(runtime, [sendEmail], { send_email: { risk: "high", effects: "write", idempotent: false } });
await using postern = openaiAgentsTools(runtime, { runId: "run-42" });

/** A stand-in, so that this runs offline. */
const model: Model = {
  getResponse: async ({ input }): Promise<ModelResponse> => {
    const last = Array.isArray(input) ? (input as AgentInputItem[]).at(-1) : undefined;
    const call = { type: "function_call" as const, id: "f", callId: "call_1", name: "send_email" };
    const said = { type: "message" as const, id: "m", role: "assistant" as const };
    const output: ModelResponse["output"] =
      last?.type === "function_call_result"
        ? [{ ...said, status: "completed", content: [{ type: "output_text", text: "Ada has the mail." }] }]
        : [{ ...call, status: "completed", arguments: '{"to":"ada@example.org"}' }];
    return { usage: new Usage(), responseId: "r", output };
  },
  getStreamedResponse: () => {
    throw new Error("this model does not stream");
  },
};

const agent = new Agent({ name: "assistant", instructions: "You help with mail.", model, tools: postern.tools });
const runner = new Runner({ tracingDisabled: true });
const held = await runner.run(agent, "Tell Ada hello.");
console.log(`interrupted: ${held.interruptions.length} call waits`);
// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

for (let i = 0; i < 2; i += 1) {
  const state = await RunState.fromString(agent, held.state.toString());
  await postern.answer(state); // approves and rejects what the person has decided
  console.log((await runner.run(agent, state)).finalOutput); // twice, but only one mail
}
