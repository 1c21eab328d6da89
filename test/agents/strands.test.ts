import { Agent, type Message, Model, type ModelStreamEvent, tool } from "@strands-agents/sdk";
import { expect, it } from "vitest";
import { z } from "zod";
import { strandsTools, wrapStrandsTools } from "../../packages/agents/src/strands.ts";
import type { Risk } from "../../packages/core/src/call.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";
import { bytesTool, expectEachBlock } from "./bytes-tool.ts";

/** Calls the tool for each prompt, with the same ids every time, and ends when it has read an answer. */
class OneCall extends Model {
  read: string[] = [];
  ids = ["tu_1"];

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
      yield { type: "modelContentBlockStopEvent" };
    }
    for (const toolUseId of isAnswered ? [] : this.ids) {
      yield { type: "modelContentBlockStartEvent", start: { type: "toolUseStart", name: "send_mail", toolUseId } };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "toolUseInputDelta", input: '{"to":"ada"}' } };
      yield { type: "modelContentBlockStopEvent" };
    }
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

type Result = Awaited<ReturnType<Agent["invoke"]>>;

/** Answers every interrupt of a result. */
function answered(agent: Agent, { interrupts = [] }: Result, response: string | boolean): Promise<Result> {
  return agent.invoke(interrupts.map(({ id }) => ({ interruptResponse: { interruptId: id, response } })));
}

async function approvePending(runtime: Runtime): Promise<number> {
  const pending = await runtime.approvals.list({ state: "pending" });
  for (const { id } of pending) await runtime.approvals.decide(id, { decision: "approved", by: { user: "grace" } });
  return pending.length;
}

it("interrupts again when the interrupt is answered before the decision", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const model = new OneCall();
  const agent = agentOf(runtime, model);
  let result = await agent.invoke("go");
  for (let i = 0; i < 3; i += 1) {
    result = await answered(agent, result, "go on");
    expect(result.interrupts).toHaveLength(1);
  }
  expect([sent, model.read]).toEqual([[], []]);
  expect(await approvePending(runtime)).toBe(1);
  expect(await answered(agent, result, "go on")).toMatchObject({ stopReason: "endTurn" });
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

it("runs an approved call once after the stored agent was restored, twice", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const first = agentOf(runtime, new OneCall());
  const result = await first.invoke("go");
  const stored = JSON.stringify(first.takeSnapshot({ preset: "session" }));
  await approvePending(runtime);
  for (let i = 0; i < 2; i += 1) {
    const agent = agentOf(runtime, new OneCall());
    agent.loadSnapshot(JSON.parse(stored));
    await answered(agent, result, "go on");
  }
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

it("asks about each response of a model that repeats its ids, and twice in one response", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const model = new OneCall();
  const agent = agentOf(runtime, model);
  for (const ids of [["tu_1"], ["tu_1"], ["tu_1", "tu_2"]]) {
    model.ids = ids;
    const result = await agent.invoke("go");
    expect(await approvePending(runtime)).toBe(ids.length);
    await answered(agent, result, "go on");
  }
  expect(sent).toHaveLength(4);
  await runtime.close();
});

it.each([
  ["no", false],
  [false, true],
])("withdraws Postern's request when the user answers %s, approved: %s", async (no, isApproved) => {
  const { runtime, sent } = await mailRuntime("high");
  const model = new OneCall();
  const agent = agentOf(runtime, model);
  const result = await answered(agent, await agent.invoke("go"), "go on");
  if (isApproved) await approvePending(runtime);
  await answered(agent, result, no);
  expect(model.read.join()).toMatch(/"status":"error".*the user refused this call of `send_mail`/);
  expect(await runtime.approvals.list()).toMatchObject([{ state: "withdrawn" }]);
  expect((await agent.invoke("go")).interrupts).toHaveLength(1);
  expect(sent).toEqual([]);
  await runtime.close();
});

it("tells the model of each block of bytes in a result", async () => {
  const runtime = await createRuntime({ tools: [bytesTool()] });
  const model = new OneCall();
  await agentOf(runtime, model).invoke("go");
  expectEachBlock(model.read.join());
  await runtime.close();
});

it("interrupts when a person has not decided while the call waited", async () => {
  const runtime = await createRuntime({ approvals: { patience: "wait" }, limits: { approvalWaitMs: 1 } });
  runtime.tools.register({ ...bytesTool(), risk: "high", effects: "write", idempotent: false });
  const { stopReason, interrupts } = await agentOf(runtime, new OneCall()).invoke("go");
  const [request] = await runtime.approvals.list({ state: "pending" });
  expect(stopReason).toBe("interrupt");
  expect(interrupts).toMatchObject([{ reason: { approval_id: request?.id } }]);
  await runtime.close();
});
