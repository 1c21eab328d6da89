/** Postern's own loop with a script as its model: the agent asks, a person approves, the run goes on. No network. */

import { createAgent, scriptedModel } from "@postern/agents/loop";
import { createRuntime, defineTool } from "postern";
import { z } from "zod";

const sendEmail = defineTool({
  ...{ name: "send_email", description: "Sends a mail.", risk: "high", effects: "write", idempotent: false },
  input: z.object({ to: z.string() }),
  execute: async ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return `sent to ${to}`;
  },
});

const model = scriptedModel([
  { uses: [{ name: "send_email", arguments: { to: "ada@example.org" } }] },
  { text: "Ada has the mail." },
]);

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
const agent = createAgent({ runtime, model, instructions: "You help with mail.", tools: [sendEmail] });
const held = await agent.run({ prompt: "Tell Ada hello.", runId: "run-42" });
console.log(held.status, held.status === "waiting" ? held.approvalIds.length : "");

// In production a person does this on a page of yours; the process may have ended meanwhile.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

const done = await agent.resume("run-42");
console.log(done?.status, done?.text);
