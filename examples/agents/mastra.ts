/** Mastra: a tool you have, behind the gate. Approved twice at once, the call runs once. */
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { mastraTools, wrapMastraTools } from "@postern/agents/mastra";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test"; // a stand-in, so that this runs offline
import { createRuntime } from "postern";
import { z } from "zod";

const send_email = createTool({
  ...{ id: "send_email", description: "Sends a mail.", inputSchema: z.object({ to: z.string() }) },
  execute: async ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return { sentTo: to };
  },
});

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
wrapMastraTools(runtime, { send_email }, { send_email: { risk: "high", effects: "write", idempotent: false } });
await using postern = mastraTools(runtime, { createTool }, { runId: "run-42" });

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = {
  type: "tool-call" as const,
  toolCallId: "call_1",
  toolName: "send_email",
  input: '{"to":"ada@example.org"}',
};
const text = { type: "text-delta" as const, id: "1", delta: "Ada has the mail." };
const said = [{ type: "text-start" as const, id: "1" }, text, { type: "text-end" as const, id: "1" }];
const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => {
    const isAnswered = prompt.at(-1)?.role === "tool";
    const finishReason = { unified: isAnswered ? ("stop" as const) : ("tool-calls" as const), raw: "" };
    const start = { type: "stream-start" as const, warnings: [] };
    const chunks = [start, ...(isAnswered ? said : [call]), { type: "finish" as const, finishReason, usage }];
    return { stream: convertArrayToReadableStream(chunks) };
  },
}) as unknown as ConstructorParameters<typeof Agent>[0]["model"];

const mailer = new Agent({ id: "mailer", name: "mailer", instructions: "i", model, tools: postern.tools });
const agent = new Mastra({ agents: { mailer }, storage: new InMemoryStore(), logger: false }).getAgent("mailer");
const held = await agent.stream("Tell Ada hello.");
await held.consumeStream();
const { runId } = held;

// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

const approve = async () => (await agent.approveToolCall({ runId, toolCallId: "call_1" })).text;
console.log(await Promise.allSettled([approve(), approve()])); // twice at once, but only one mail
