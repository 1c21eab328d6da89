/** AI SDK: a tool you have, behind the gate. A person approves the call; sent twice, it runs once. */
import { aiSdkTools, wrapAiSdkTools } from "@postern/agents/ai-sdk";
import { generateText, isStepCount, type ModelMessage, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test"; // a stand-in, so that this runs offline
import { createRuntime } from "postern";
import { z } from "zod";

const sendEmail = tool({
  description: "Sends a mail.",
  inputSchema: z.object({ to: z.string(), body: z.string() }),
  execute: async ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return `sent to ${to}`;
  },
});

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
await wrapAiSdkTools(runtime, { sendEmail }, { sendEmail: { risk: "high", effects: "write", idempotent: false } });
await using agent = aiSdkTools(runtime, { runId: "chat-42" });

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const mail = '{"to":"ada@example.org","body":"hello"}';
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const isAnswered = prompt.some(({ role }) => role === "tool");
    return {
      content: isAnswered
        ? [{ type: "text", text: "Ada has the mail." }]
        : [{ type: "tool-call", toolCallId: "call_1", toolName: "sendEmail", input: mail }],
      finishReason: { unified: isAnswered ? "stop" : "tool-calls", raw: "" },
      ...{ usage, warnings: [] },
    };
  },
});

/** One request to your chat server. The messages come from your storage and go back there. */
async function turn(messages: ModelMessage[]): Promise<string> {
  const responses = await agent.responses(messages);
  if (responses === undefined) return "A person must still decide.";
  messages.push(...responses);
  const result = await generateText({ model, messages, stopWhen: isStepCount(5), ...agent.settings });
  messages.push(...result.responseMessages);
  return result.text;
}

const messages: ModelMessage[] = [{ role: "user", content: "Tell Ada hello." }];
await turn(messages); // the call waits

// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
const stored = JSON.stringify(messages);
for (let i = 0; i < 2; i += 1) {
  const again: ModelMessage[] = JSON.parse(stored);
  console.log(await turn(again)); // twice, but only one mail
  await turn([...again, { role: "user", content: "Thank you." }]);
}
