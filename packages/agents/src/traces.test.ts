import { expect, it } from "vitest";
import { recordedSpans } from "../../../test/fakes/spans.ts";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import { createAgent } from "./loop.ts";
import { scriptedModel } from "./model.ts";

const exporter = recordedSpans();

const send = {
  ...{ name: "send", description: "Sends.", risk: "high" as const, effects: "write" as const, idempotent: false },
  inputSchema: { type: "object", properties: { to: { type: "string" } } },
  execute: () => "sent",
};

it("makes one trace of a run that waits and goes on, with the ids of the audit log and no arguments", async () => {
  await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
  const model = scriptedModel([{ uses: [{ id: "c1", name: "send", arguments: { to: "ada" } }] }, { text: "Sent." }]);
  const agent = createAgent({ runtime, model, name: "mailer", tools: [send] });
  const { runId } = await agent.run({ prompt: "Go." });
  const [request] = await runtime.approvals.list();
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  await agent.resume(runId);
  const spans = exporter.getFinishedSpans();
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([request?.traceId]));
  expect(spans.map(({ name }) => name)).toEqual([
    "chat script",
    "execute_tool send",
    "invoke_agent mailer",
    "execute_tool send",
    "chat script",
    "invoke_agent mailer",
  ]);
  expect(spans[3]?.attributes).toMatchObject({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "send",
    "gen_ai.tool.call.id": "c1",
    "gen_ai.conversation.id": runId,
    "postern.status": "ok",
  });
  expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain("ada");
});

it("keeps arguments and results in spans when it is asked to, and says which refusal a call met", async () => {
  await using runtime = await createRuntime();
  const model = scriptedModel([{ uses: [{ name: "send", arguments: { to: "ada" } }] }, { text: "No." }]);
  await createAgent({ runtime, model, tools: [send], traceContent: true }).run({ prompt: "Go." });
  const span = exporter.getFinishedSpans().find(({ name }) => name === "execute_tool send");
  expect(span?.attributes).toMatchObject({
    "gen_ai.tool.call.arguments": '{"to":"ada"}',
    "error.type": "approval_unavailable",
  });
});
