import { Agent, type Message, Model, type ModelStreamEvent, tool } from "@strands-agents/sdk";
import { expect, it } from "vitest";
import { z } from "zod";
import { strandsTools, wrapStrandsTools } from "../../src/agents/strands.ts";
import type { Risk } from "../../src/core/call.ts";
import type { Runtime } from "../../src/runtime/api.ts";
import { createRuntime } from "../../src/runtime/create.ts";

/** Calls the tool once and ends when it has read an answer. */
class OneCall extends Model {
  read: string[] = [];

  updateConfig(): void {}

  getConfig(): object {
    return {};
  }

  async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    const last = JSON.stringify(messages.at(-1));
    const isAnswered = last.includes("toolResult");
    if (isAnswered) this.read.push(last);
    yield { type: "modelMessageStartEvent", role: "assistant" };
    if (isAnswered) {
      yield { type: "modelContentBlockStartEvent" };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: "done" } };
    } else {
      yield {
        type: "modelContentBlockStartEvent",
        start: { type: "toolUseStart", name: "send_mail", toolUseId: "tu_1" },
      };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "toolUseInputDelta", input: '{"to":"ada"}' } };
    }
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: isAnswered ? "endTurn" : "toolUse" };
  }
}

async function mailRuntime(risk: Risk): Promise<{ runtime: Runtime; sent: string[] }> {
  const sent: string[] = [];
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
  const sendMail = tool({
    ...{ name: "send_mail", description: "Sends a mail.", inputSchema: z.object({ to: z.string() }) },
    callback: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
  });
  wrapStrandsTools(runtime, [sendMail], { send_mail: { risk, effects: "write", idempotent: false } });
  return { runtime, sent };
}

function agentOf(runtime: Runtime, model: Model): Agent {
  const { tools } = strandsTools(runtime, { tool }, { runId: "run-1" });
  return new Agent({ model, tools, printer: false });
}

it("runs a wrapped tool and gives the model its result", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const model = new OneCall();
  await agentOf(runtime, model).invoke("go");
  expect(sent).toEqual(["ada"]);
  expect(model.read.join()).toContain("sent to ada");
  await runtime.close();
});

it("interrupts the agent, and runs an approved call once", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime, new OneCall());
  const { stopReason, interrupts = [] } = await agent.invoke("go");
  expect(stopReason).toBe("interrupt");
  const [request] = await runtime.approvals.list();
  expect(interrupts[0]?.reason).toEqual({ tool: "send_mail", approval_id: request?.id });
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  const answer = { interruptResponse: { interruptId: interrupts[0]?.id ?? "", response: "go on" } };
  await agent.invoke([answer]);
  await agent.invoke([answer]).catch(() => undefined);
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

it("runs nothing when only the interrupt was answered", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const model = new OneCall();
  const agent = agentOf(runtime, model);
  const { interrupts = [] } = await agent.invoke("go");
  await agent.invoke([{ interruptResponse: { interruptId: interrupts[0]?.id ?? "", response: "yes" } }]);
  expect(sent).toEqual([]);
  expect(model.read.join()).toContain("needs a person's approval");
  await runtime.close();
});
