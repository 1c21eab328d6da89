import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { expect, it } from "vitest";
import { anthropicRunnerTools, wrapAnthropicTools } from "../../packages/agents/src/anthropic-runner.ts";
import type { Risk } from "../../packages/core/src/call.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";
import { bytesTool, expectEachBlock } from "./bytes-tool.ts";

interface Sent {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** A client whose server is a function: it asks for one tool use and ends when it has read the result. */
function clientThat(asks: object, requests: Sent[], streams = false): Anthropic {
  return new Anthropic({
    apiKey: "none",
    fetch: async (_url, init) => {
      const request = JSON.parse(String(init?.body)) as Sent;
      requests.push(request);
      const isAnswered = JSON.stringify(request.messages.at(-1)).includes("tool_result");
      const content = isAnswered
        ? { type: "text", text: "done" }
        : { type: "tool_use", id: "toolu_1", name: "send_mail", input: asks, caller: { type: "direct" } };
      const stop = isAnswered ? "end_turn" : "tool_use";
      return streams ? streamOf(content, stop) : Response.json({ ...message, content: [content], stop_reason: stop });
    },
  });
}

const message = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude", stop_sequence: null, content: [] },
  usage: { input_tokens: 1, output_tokens: 1 },
};

function streamOf(content: { type: string; input?: object; text?: string }, stop: string): Response {
  const { input, text, ...start } = content;
  const delta =
    input === undefined
      ? { type: "text_delta", text }
      : { type: "input_json_delta", partial_json: JSON.stringify(input) };
  const events = [
    { type: "message_start", message: { ...message, stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: { ...start, ...(input ? { input: {} } : { text: "" }) } },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function mailRuntime(risk: Risk): Promise<{ runtime: Runtime; sent: string[] }> {
  const sent: string[] = [];
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
  const sendMail = betaTool({
    ...{ name: "send_mail", description: "Sends a mail." },
    inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    run: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
  });
  wrapAnthropicTools(runtime, [sendMail], { send_mail: { risk, effects: "write", idempotent: false } });
  return { runtime, sent };
}

const asked = { model: "claude", max_tokens: 100, messages: [{ role: "user" as const, content: "go" }] };

it("runs a wrapped tool and gives the model its result", async () => {
  const { runtime, sent } = await mailRuntime("safe");
  const requests: Sent[] = [];
  await using postern = anthropicRunnerTools(runtime, { runId: "run-1" });
  const runner = clientThat({ to: "ada" }, requests).beta.messages.toolRunner({ ...asked, tools: postern.tools });
  expect((await runner).content).toMatchObject([{ type: "text", text: "done" }]);
  expect(sent).toEqual(["ada"]);
  expect(requests[1]?.messages.at(-1)?.content).toMatchObject([{ tool_use_id: "toolu_1", content: "sent to ada" }]);
  await runtime.close();
});

it("runs no call early that a person must approve, and informs the model", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const requests: Sent[] = [];
  await using postern = anthropicRunnerTools(runtime, { runId: "run-1" });
  const client = clientThat({ to: "ada" }, requests, true);
  await client.beta.messages
    .toolRunner({ ...asked, tools: postern.tools, stream: true, runToolsEagerly: true })
    .runUntilDone();
  expect(sent).toEqual([]);
  expect(JSON.stringify(requests[1])).toContain("needs a person's approval");
  expect(requests[1]?.messages.at(-1)?.content).toMatchObject([{ is_error: true }]);
  await runtime.close();
});

it("runs an approved call once when the same message is run twice", async () => {
  const { runtime, sent } = await mailRuntime("high");
  const run = async (): Promise<void> => {
    await using postern = anthropicRunnerTools(runtime, { runId: "run-1" });
    await clientThat({ to: "ada" }, []).beta.messages.toolRunner({ ...asked, tools: postern.tools });
  };
  await run();
  const [request] = await runtime.approvals.list();
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  await run();
  await run();
  expect(sent).toEqual(["ada"]);
  await runtime.close();
});

it("tells the model of each block of bytes in a result", async () => {
  const runtime = await createRuntime({ tools: [bytesTool()] });
  const requests: Sent[] = [];
  await using postern = anthropicRunnerTools(runtime, { runId: "run-1" });
  await clientThat({}, requests).beta.messages.toolRunner({ ...asked, tools: postern.tools });
  expectEachBlock(JSON.stringify(requests[1]?.messages.at(-1)));
  await runtime.close();
});
