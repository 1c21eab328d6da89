import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, type LlmRequest, type LlmResponse } from "@google/adk";
import { expect, it } from "vitest";
import { z } from "zod";
import { adkTools, wrapAdkTools } from "../../packages/agents/src/adk.ts";
import type { Risk } from "../../packages/core/src/call.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";
import { bytesTool, expectEachBlock } from "./bytes-tool.ts";

/** Calls the tool for each prompt, with the same ids every time, and ends when it has read an answer. */
class OneCall extends BaseLlm {
  read: string[] = [];
  ids = ["fc_1"];

  constructor() {
    super({ model: "one-call" });
  }

  async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const last = JSON.stringify(contents.at(-1));
    const isAnswered = last.includes("functionResponse");
    if (isAnswered) this.read.push(last);
    const parts = isAnswered
      ? [{ text: "done" }]
      : this.ids.map((id) => ({ functionCall: { id, name: "send_mail", args: { to: "ada" } } }));
    yield { content: { role: "model", parts } };
  }

  async connect(): Promise<never> {
    throw new Error("this model is not live");
  }
}

async function mailRuntime(risk: Risk): Promise<{ runtime: Runtime; sent: string[] }> {
  const sent: string[] = [];
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
  const sendMail = new FunctionTool({
    ...{ name: "send_mail", description: "Sends a mail.", parameters: z.object({ to: z.string() }) },
    execute: ({ to }) => {
      sent.push(to);
      return { sentTo: to };
    },
  });
  wrapAdkTools(runtime, [sendMail], { send_mail: { risk, effects: "write", idempotent: false } });
  return { runtime, sent };
}

interface Conversation {
  readonly model: OneCall;
  say(parts: object[]): Promise<string>;
}

async function conversation(runtime: Runtime): Promise<Conversation> {
  const model = new OneCall();
  const { tools } = adkTools(runtime, { FunctionTool }, { runId: "run-1" });
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: "mailer", model, instruction: "i", tools }) });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: runner.appName, userId: "u" });
  return {
    model,
    say: async (parts) => {
      const events: string[] = [];
      for await (const event of runner.runAsync({ userId: "u", sessionId, newMessage: { role: "user", parts } }))
        events.push(JSON.stringify(event));
      return events.join("\n");
    },
  };
}

it("runs a wrapped tool and gives the model its result", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const { model, say } = await conversation(runtime);
  await say([{ text: "go" }]);
  expect(sent).toEqual(["ada"]);
  expect(model.read.join()).toContain('"sentTo":"ada"');
  await runtime.close();
});

/** The kit's questions in the events of a run. */
function questionsIn(events: string): readonly string[] {
  const parts = events.split("\n").flatMap((event) => (event === "" ? [] : (JSON.parse(event).content?.parts ?? [])));
  return parts.flatMap(({ functionCall }) =>
    functionCall?.name === "adk_request_confirmation" ? [functionCall.id as string] : [],
  );
}

function answers(questions: readonly string[], confirmed: boolean): object[] {
  return questions.map((id) => ({
    functionResponse: { id, name: "adk_request_confirmation", response: { confirmed } },
  }));
}

async function decidePending(runtime: Runtime, decision: "approved" | "denied"): Promise<number> {
  const pending = await runtime.approvals.list({ state: "pending" });
  for (const { id } of pending) await runtime.approvals.decide(id, { decision, by: { user: "grace" } });
  return pending.length;
}

it("asks for the kit's confirmation, and runs an approved call once", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const { model, say } = await conversation(runtime);
  const questions = questionsIn(await say([{ text: "go" }]));
  expect(sent).toEqual([]);
  expect(await decidePending(runtime, "approved")).toBe(1);
  await say(answers(questions, true));
  await say(answers(questions, true)).catch(() => undefined);
  expect(sent).toEqual(["ada"]);
  expect(model.read[0]).toContain('"sentTo":"ada"');
  await runtime.close();
});

it("waits again when the kit's confirmation comes before the decision", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const { model, say } = await conversation(runtime);
  const questions = questionsIn(await say([{ text: "go" }]));
  for (let i = 0; i < 2; i += 1) expect(await say(answers(questions, true))).toBe("");
  expect(model.read).toEqual([]);
  expect(await decidePending(runtime, "approved")).toBe(1);
  await say(answers(questions, true));
  expect(sent).toEqual(["ada"]);
  expect(model.read[0]).toContain('"sentTo":"ada"');
  await runtime.close();
});

it("gives the model a denial of Postern as an error", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const { model, say } = await conversation(runtime);
  const questions = questionsIn(await say([{ text: "go" }]));
  await decidePending(runtime, "denied");
  await say(answers(questions, true));
  expect(sent).toEqual([]);
  expect(model.read.join()).toContain('"error":"A person (grace) denied this call');
  await runtime.close();
});

it("asks Postern before the kit about each call with the same id and arguments", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const { say } = await conversation(runtime);
  for (const round of [1, 2, 3]) {
    const questions = questionsIn(await say([{ text: "go" }]));
    expect(questions).toHaveLength(1);
    expect(await decidePending(runtime, "approved")).toBe(1);
    await say(answers(questions, true));
    expect(sent).toHaveLength(round);
  }
  await runtime.close();
});

it("asks twice about two equal calls of one response", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const { model, say } = await conversation(runtime);
  model.ids = ["fc_1", "fc_2"];
  const questions = questionsIn(await say([{ text: "go" }]));
  expect(await decidePending(runtime, "approved")).toBe(2);
  await say(answers(questions, true));
  expect(sent).toEqual(["ada", "ada"]);
  await runtime.close();
});

it("withdraws Postern's request when the user rejects the call in the kit", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const { model, say } = await conversation(runtime);
  await say(answers(questionsIn(await say([{ text: "go" }])), false));
  expect(model.read.join()).toContain('"error"');
  expect(await runtime.approvals.list()).toMatchObject([{ state: "withdrawn" }]);
  expect(await decidePending(runtime, "approved")).toBe(0);
  expect(questionsIn(await say([{ text: "go" }]))).toHaveLength(1);
  expect(sent).toEqual([]);
  await runtime.close();
});

it("tells the model of each block of bytes in a result", async () => {
  const runtime = await createRuntime({ tools: [bytesTool()] });
  const { model, say } = await conversation(runtime);
  await say([{ text: "go" }]);
  expectEachBlock(model.read.join());
  await runtime.close();
});
