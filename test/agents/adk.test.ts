import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, type LlmRequest, type LlmResponse } from "@google/adk";
import { expect, it } from "vitest";
import { z } from "zod";
import { adkTools, wrapAdkTools } from "../../src/agents/adk.ts";
import type { Risk } from "../../src/core/call.ts";
import type { Runtime } from "../../src/runtime/api.ts";
import { createRuntime } from "../../src/runtime/create.ts";

/** Calls the tool once and ends when it has read an answer. */
class OneCall extends BaseLlm {
  read: string[] = [];

  constructor() {
    super({ model: "one-call" });
  }

  async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const last = JSON.stringify(contents.at(-1));
    const isAnswered = last.includes("functionResponse");
    if (isAnswered) this.read.push(last);
    const parts = isAnswered
      ? [{ text: "done" }]
      : [{ functionCall: { id: "fc_1", name: "send_mail", args: { to: "ada" } } }];
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

it("asks for the kit's confirmation, and runs an approved call once", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const { say } = await conversation(runtime);
  const events = await say([{ text: "go" }]);
  const parts = events.split("\n").flatMap((event) => JSON.parse(event).content?.parts ?? []);
  const asked = parts.find(({ functionCall }) => functionCall?.name === "adk_request_confirmation");
  expect(sent).toEqual([]);
  const [request] = await runtime.approvals.list();
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  const confirmed = { id: asked.functionCall.id, name: "adk_request_confirmation", response: { confirmed: true } };
  await say([{ functionResponse: confirmed }]);
  await say([{ functionResponse: confirmed }]).catch(() => undefined);
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});
