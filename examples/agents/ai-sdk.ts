/** AI SDK: a tool you have, behind the gate. A person approves the call; sent twice, it runs once. */
import { generateText, isStepCount, type ModelMessage, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test"; // a stand-in, so that this runs offline
import { createRuntime } from "postern";
import { aiSdkTools, wrapAiSdkTools } from "postern/agents/ai-sdk";
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
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const isAnswered = prompt.at(-1)?.role === "tool";
    const input = JSON.stringify({ to: "ada@example.org", body: "hello" });
    return {
      content: isAnswered
        ? [{ type: "text", text: "Ada has the mail." }]
        : [{ type: "tool-call", toolCallId: "call_1", toolName: "sendEmail", input }],
      finishReason: { unified: isAnswered ? "stop" : "tool-calls", raw: "" },
      ...{ usage, warnings: [] },
    };
  },
});

const messages: ModelMessage[] = [{ role: "user", content: "Tell Ada hello." }];
const held = await generateText({ model, messages, stopWhen: isStepCount(5), ...agent.settings });
const asked = held.content.find((part) => part.type === "tool-approval-request");
console.log(asked?.reason);

// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

const answer = { type: "tool-approval-response" as const, approvalId: asked?.approvalId ?? "", approved: true };
messages.push(...held.response.messages, { role: "tool", content: [answer] });
for (let i = 0; i < 2; i += 1) {
  const { text } = await generateText({ model, messages, stopWhen: isStepCount(5), ...agent.settings });
  console.log(text); // twice, but only one mail
}
