/** Google's Agent Development Kit: a tool you have, behind the gate. */
import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, type LlmRequest, type LlmResponse } from "@google/adk";
import { adkTools, wrapAdkTools } from "@postern/agents/adk";
import { createRuntime } from "postern";
import { z } from "zod";

const sendEmail = new FunctionTool({
  ...{ name: "send_email", description: "Sends a mail.", parameters: z.object({ to: z.string() }) },
  execute: ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return { sentTo: to };
  },
});

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
wrapAdkTools(runtime, [sendEmail], { send_email: { risk: "high", effects: "write", idempotent: false } });
await using postern = adkTools(runtime, { FunctionTool }, { runId: "run-42" });

/** A stand-in, so that this runs offline: it asks for one call and ends when it has read the answer. */
class OneCall extends BaseLlm {
  async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const isAnswered = JSON.stringify(contents.at(-1)).includes("functionResponse");
    const functionCall = { id: "fc_1", name: "send_email", args: { to: "ada@example.org" } };
    yield { content: { role: "model", parts: isAnswered ? [{ text: "Ada has the mail." }] : [{ functionCall }] } };
  }

  async connect(): Promise<never> {
    throw new Error("this model is not live");
  }
}

const model = new OneCall({ model: "one-call" });
const agent = new LlmAgent({ name: "assistant", model, instruction: "You help with mail.", tools: postern.tools });
const runner = new InMemoryRunner({ agent });
const { id: sessionId } = await runner.sessionService.createSession({ appName: runner.appName, userId: "u" });

async function say(parts: object[]): Promise<string> {
  let confirmation = "";
  for await (const { content } of runner.runAsync({ userId: "u", sessionId, newMessage: { role: "user", parts } })) {
    for (const { text, functionCall } of content?.parts ?? []) {
      if (text !== undefined) console.log(text);
      if (functionCall?.name === "adk_request_confirmation") confirmation = functionCall.id ?? "";
    }
  }
  return confirmation;
}

const id = await say([{ text: "Tell Ada hello." }]);

// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

await say([{ functionResponse: { id, name: "adk_request_confirmation", response: { confirmed: true } } }]);
