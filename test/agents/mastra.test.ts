import { join } from "node:path";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { afterAll, expect, it } from "vitest";
import { z } from "zod";
import { mastraTools, wrapMastraTools } from "../../packages/agents/src/mastra.ts";
import type { Risk } from "../../packages/core/src/call.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";
import { ownFolder, removeOwnFolders } from "../fakes/own-folder.ts";
import { bytesTool, expectEachBlock } from "./bytes-tool.ts";

afterAll(removeOwnFolders);

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

interface Asked {
  readonly id: string;
  readonly to: string;
}

const once: readonly (readonly Asked[])[] = [[{ id: "call_1", to: "ada" }]];

type Prompt = Parameters<MockLanguageModelV4["doStream"]>[0]["prompt"];

/** Asks for the calls of each turn, and ends. `read` gets what the model has read of all calls. */
function model(turns: readonly (readonly Asked[])[], read: (results: string) => void): MockLanguageModelV4 {
  let responses = 0;
  const next = (prompt: Prompt): readonly Asked[] | undefined => {
    const parts = prompt.flatMap(({ role, content }) => (role === "tool" ? content : []));
    read(JSON.stringify(parts));
    const before = Math.max(responses, prompt.filter(({ role }) => role === "assistant").length);
    responses = before + 1;
    return turns[before];
  };
  const callsOf = (asked: readonly Asked[]) =>
    asked.map(({ id, to }) => ({
      ...{ type: "tool-call" as const, toolCallId: id, toolName: "send_mail", input: JSON.stringify({ to }) },
    }));
  const doStream: MockLanguageModelV4["doStream"] = async ({ prompt }) => {
    const asked = next(prompt);
    const said =
      asked === undefined
        ? [
            { type: "text-start" as const, id: "1" },
            { type: "text-delta" as const, id: "1", delta: "done" },
            { type: "text-end" as const, id: "1" },
          ]
        : callsOf(asked);
    const finishReason = { unified: asked === undefined ? ("stop" as const) : ("tool-calls" as const), raw: "" };
    const chunks = [
      { type: "stream-start" as const, warnings: [] },
      ...said,
      { type: "finish" as const, finishReason, usage },
    ];
    return { stream: convertArrayToReadableStream(chunks) };
  };
  const doGenerate: MockLanguageModelV4["doGenerate"] = async ({ prompt }) => {
    const asked = next(prompt);
    return {
      content: asked === undefined ? [{ type: "text", text: "done" }] : callsOf(asked),
      finishReason: { unified: asked === undefined ? "stop" : "tool-calls", raw: "" },
      ...{ usage, warnings: [] },
    };
  };
  return new MockLanguageModelV4({ doStream, doGenerate });
}

async function mailRuntime(risk: Risk, store = "memory"): Promise<{ runtime: Runtime; sent: string[] }> {
  const sent: string[] = [];
  const runtime = await createRuntime({ store, approvals: { patience: "suspend" } });
  const send_mail = createTool({
    ...{ id: "send_mail", description: "Sends a mail.", inputSchema: z.object({ to: z.string() }) },
    execute: async ({ to }) => {
      sent.push(to);
      return { sentTo: to };
    },
  });
  wrapMastraTools(runtime, { send_mail }, { send_mail: { risk, effects: "write", idempotent: false } });
  return { runtime, sent };
}

function agentOf(
  runtime: Runtime,
  turns = once,
  {
    read = () => undefined,
    storage = new InMemoryStore(),
  }: { read?: (results: string) => void; storage?: InMemoryStore } = {},
): Agent {
  const { tools } = mastraTools(runtime, { createTool }, { runId: "run-1" });
  const mock = model(turns, read) as unknown as ConstructorParameters<typeof Agent>[0]["model"]; // Mastra wants streams of both
  const agent = new Agent({ id: "mailer", name: "mailer", instructions: "i", model: mock, tools });
  return new Mastra({ agents: { mailer: agent }, storage, logger: false }).getAgent("mailer");
}

it("runs a wrapped tool and gives the model its result", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const result = await agentOf(runtime).generate("go");
  expect(result.text).toBe("done");
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

it("runs an approved call once when it is approved twice at once", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime);
  const { runId } = await agent.generate("go");
  expect(sent).toEqual([]);
  const [request] = await runtime.approvals.list();
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  const approve = () => agent.approveToolCallGenerate({ runId: runId ?? "", toolCallId: "call_1" });
  await Promise.allSettled([approve(), approve()]);
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

async function decideAll(runtime: Runtime, decision: "approved" | "denied"): Promise<void> {
  for (const { id } of await runtime.approvals.list({ state: "pending" }))
    await runtime.approvals.decide(id, { decision, by: { user: "grace" } });
}

it("suspends again when the library approves before the decision, and runs after it in another process", async () => {
  const store = `sqlite:${join(ownFolder(), "postern.db")}`;
  const storage = new InMemoryStore(); // Mastra's own store, which both processes share
  const first = await mailRuntime("high", store);
  const agent = agentOf(first.runtime, once, { storage });
  const held = await agent.generate("go");
  const [request] = await first.runtime.approvals.list();
  const asks = { approval_id: request?.id, tool: "send_mail", arguments: { to: "ada" } };
  expect(held.suspendPayload).toMatchObject({ suspendPayload: asks });
  const call = { runId: held.runId ?? "", toolCallId: "call_1" };
  const early = await agent.approveToolCallGenerate(call);
  expect(early.suspendPayload).toMatchObject({ suspendPayload: asks });
  await first.runtime.close();

  const { runtime, sent } = await mailRuntime("high", store);
  await decideAll(runtime, "approved");
  const end = await agentOf(runtime, once, { storage }).approveToolCallGenerate(call);
  expect(end.text).toBe("done");
  expect(sent).toEqual(["ada"]);
  expect(await runtime.approvals.list()).toHaveLength(1);
  const rows = await runtime.calls.list({ tool: "send_mail" });
  expect(rows.map(({ joined }) => joined)).toEqual([undefined]); // the same turn each time
  await runtime.close();
});

it("withdraws Postern's request when the library declines, and tells the model an error", async () => {
  const { runtime, sent } = await mailRuntime("high");
  let results = "";
  const agent = agentOf(runtime, once, { read: (all) => (results = all) });
  const { runId = "" } = await agent.generate("go");
  const end = await agent.declineToolCallGenerate({ runId, toolCallId: "call_1", reason: "not now" });
  expect(end.text).toBe("done");
  expect(results).toMatch(/error.*the user refused this call.*not now/);
  expect(await runtime.approvals.list()).toMatchObject([{ state: "withdrawn" }]);
  await decideAll(runtime, "approved");
  await agentOf(runtime).generate("go");
  expect(await runtime.approvals.list({ state: "pending" })).toHaveLength(1); // an equal call asks again
  expect(sent).toEqual([]);
  await runtime.close();
});

it("makes two requests for two equal calls of one response, and runs both", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const agent = agentOf(runtime, [["c1", "c2"].map((id) => ({ id, to: "ada" }))]);
  const held = await agent.generate("go");
  let end = held;
  const requests = new Set<string>();
  while (end.finishReason === "suspended") {
    const { toolCallId, suspendPayload } = end.suspendPayload;
    requests.add(suspendPayload.approval_id);
    await decideAll(runtime, "approved");
    end = await agent.approveToolCallGenerate({ runId: held.runId ?? "", toolCallId });
  }
  expect(requests.size).toBe(2);
  expect(sent).toEqual(["ada", "ada"]);
  await runtime.close();
});

it("runs an equal call of a later response again, also under the same id", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const same = [{ id: "call_0", to: "ada" }];
  await agentOf(runtime, [same, same, same]).generate("go");
  expect(sent).toHaveLength(3);
  await runtime.close();
});

it("gives the model a line for a file, a sound and embedded bytes", async () => {
  const runtime = await createRuntime({ tools: [bytesTool()] });
  let results = "";
  await agentOf(runtime, once, { read: (all) => (results = all) }).generate("go");
  expectEachBlock(results);
  await runtime.close();
});
