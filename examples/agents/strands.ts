/** Strands Agents: a tool you have, behind the gate. */

import { strandsTools, wrapStrandsTools } from "@postern/agents/strands";
import { Agent, type Message, Model, type ModelStreamEvent, tool } from "@strands-agents/sdk";
import { createRuntime } from "postern";
import { z } from "zod";

const sendEmail = tool({
  ...{ name: "send_email", description: "Sends a mail.", inputSchema: z.object({ to: z.string() }) },
  callback: ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return `sent to ${to}`;
  },
});

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
wrapStrandsTools(runtime, [sendEmail], { send_email: { risk: "high", effects: "write", idempotent: false } });
await using postern = strandsTools(runtime, { tool }, { runId: "run-42" });

/** A stand-in, so that this runs offline: it asks for one call and ends when it has read the answer. */
class OneCall extends Model {
  updateConfig(): void {}

  getConfig(): object {
    return {};
  }

  async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    const isAnswered = JSON.stringify(messages.at(-1)).includes("toolResult");
    const call = { type: "toolUseStart" as const, name: "send_email", toolUseId: "tu_1" };
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield isAnswered ? { type: "modelContentBlockStartEvent" } : { type: "modelContentBlockStartEvent", start: call };
    yield isAnswered
      ? { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: "Ada has the mail." } }
      : {
          type: "modelContentBlockDeltaEvent",
          delta: { type: "toolUseInputDelta", input: '{"to":"ada@example.org"}' },
        };
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: isAnswered ? "endTurn" : "toolUse" };
  }
}

const agent = new Agent({ model: new OneCall(), tools: postern.tools, printer: false });
const { interrupts = [] } = await agent.invoke("Tell Ada hello.");
console.log(interrupts[0]?.reason);

// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

const answer = { interruptResponse: { interruptId: interrupts[0]?.id ?? "", response: "go on" } };
console.log(String(await agent.invoke([answer])));
