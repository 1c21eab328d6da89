/** Anthropic SDK tool runner: a tool you have, behind the gate. Run again after a person approved, the call runs once. */
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { anthropicRunnerTools, wrapAnthropicTools } from "@postern/agents/anthropic-runner";
import { createRuntime } from "postern";

const sendEmail = betaTool({
  ...{ name: "send_email", description: "Sends a mail." },
  inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  run: ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return `sent to ${to}`;
  },
});

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
wrapAnthropicTools(runtime, [sendEmail], { send_email: { risk: "high", effects: "write", idempotent: false } });

/** A client with a stand-in for the server, so that this runs offline. */
const client = new Anthropic({
  apiKey: "none",
  fetch: async (_url, init) => {
    const isAnswered = String(init?.body).includes("tool_result");
    const use = { type: "tool_use", id: "toolu_1", name: "send_email", input: { to: "ada@example.org" } };
    return Response.json({
      ...{ id: "msg_1", type: "message", role: "assistant", model: "claude", stop_sequence: null },
      content: isAnswered ? [{ type: "text", text: "I have told Ada, or a person must decide." }] : [use],
      stop_reason: isAnswered ? "end_turn" : "tool_use",
      usage: { input_tokens: 1, output_tokens: 1 },
    });
  },
});

async function run(): Promise<void> {
  await using postern = anthropicRunnerTools(runtime, { runId: "run-42" });
  const messages = [{ role: "user" as const, content: "Tell Ada hello." }];
  const message = await client.beta.messages.toolRunner({
    model: "claude",
    max_tokens: 100,
    messages,
    tools: postern.tools,
  });
  console.log(message.content);
}

await run(); // nothing runs: the model reads that a person must decide

// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

await run();
await run(); // the kept result
