import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PosternProcess } from "../fakes/postern-process.ts";

const cli = new PosternProcess();
/** What the model sends: another one each time, because the same call is not run again within an approval's lifetime. */
let sends = "hi";
const asked: { readonly path: string; readonly key: string; readonly body: string }[] = [];
const server = createServer(async (request, response) => {
  const { url: path = "" } = request;
  const body = await text(request);
  asked.push({ path, key: keyOf(request), body });
  const isFirst = !body.includes(`sent ${sends}`);
  const events = path.endsWith("/messages") ? anthropicEvents(isFirst) : openaiEvents(isFirst);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
});

beforeAll(async () => {
  symlinkSync(join(import.meta.dirname, "node_modules"), join(cli.folder, "node_modules"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  Object.assign(process.env, { ANTHROPIC_BASE_URL: url, OPENAI_BASE_URL: url });
});
afterAll(() => {
  server.close();
  cli[Symbol.dispose]();
});

function keyOf({ headers }: IncomingMessage): string {
  return String(headers["x-api-key"] ?? headers.authorization);
}

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Anthropic Messages, streamed. */
function anthropicEvents(isFirst: boolean): readonly Event[] {
  const block = isFirst ? { type: "tool_use", id: "toolu_1", name: "send", input: {} } : { type: "text", text: "" };
  const delta = isFirst
    ? { type: "input_json_delta", partial_json: JSON.stringify({ text: sends }) }
    : { type: "text_delta", text: "It is sent." };
  const message = { id: "m", type: "message", role: "assistant", model: "stub", content: [] };
  const start = { ...message, stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } };
  return [
    { type: "message_start", message: start },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: isFirst ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 2 },
    },
    { type: "message_stop" },
  ];
}

/** OpenAI Responses, streamed. */
function openaiEvents(isFirst: boolean): readonly Event[] {
  const call = {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "send",
    arguments: JSON.stringify({ text: sends }),
  };
  const item = isFirst ? { ...call, status: "completed" } : { type: "message", id: "msg_1" };
  const delta: readonly Event[] = isFirst
    ? []
    : [{ type: "response.output_text.delta", item_id: "msg_1", delta: "It is sent." }];
  const usage = {
    ...{ input_tokens: 1, input_tokens_details: { cached_tokens: 0 } },
    ...{ output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 } },
  };
  return [
    { type: "response.created", response: { id: "r", created_at: 1, model: "stub" } },
    { type: "response.output_item.added", output_index: 0, item },
    ...delta,
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { incomplete_details: null, usage } },
  ];
}

it.each([
  { model: "anthropic/claude-stub", variable: "ANTHROPIC_API_KEY", path: "/v1/messages", key: "k-1" },
  { model: "openai/gpt-stub", variable: "OPENAI_API_KEY", path: "/v1/responses", key: "Bearer k-1" },
  { model: "@ai-sdk/openai#openai/gpt-stub", variable: "OPENAI_API_KEY", path: "/v1/responses", key: "Bearer k-1" },
])("runs $model with its real package, through an approval", async ({ model, variable, path, key }) => {
  process.env[variable] = "k-1";
  asked.length = 0;
  const ran = cli.runs.length;
  sends = `hi ${model.length}`;
  const runId = `run-${model.length}`;
  const waiting = await cli.run("agent", "run", "--model", model, "--prompt", "Send hi.", "--run-id", runId);
  expect(waiting).toMatchObject({ code: 4, out: "", err: expect.stringContaining(`→ send {"text":"${sends}"}`) });
  const id = /apr_[\w-]+/.exec(waiting.err)?.[0] ?? "";
  expect((await cli.run("approvals", "approve", id)).code).toBe(0);
  expect(await cli.run("agent", "resume", runId)).toMatchObject({ code: 0, out: "It is sent.\n" });
  expect(cli.runs.length).toBe(ran + 1);
  expect(asked.map((request) => [request.path, request.key])).toEqual([
    [path, key],
    [path, key],
  ]);
  expect(asked[0]?.body).toContain("Send hi.");
});

it("names the variable that holds the key when it is not set", async () => {
  for (const [model, variable] of [
    ["anthropic/x", "ANTHROPIC_API_KEY"],
    ["google/x", "GOOGLE_GENERATIVE_AI_API_KEY"],
  ] as const) {
    delete process.env[variable];
    const refused = await cli.run("agent", "run", "--model", model, "--prompt", "Go.");
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining(variable) });
  }
});

it("ends a run whose model fails with code 1, the reason, and how to continue", async () => {
  process.env["OPENAI_API_KEY"] = "k-1";
  const own = process.env["OPENAI_BASE_URL"];
  process.env["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1";
  const failed = await cli.run("agent", "run", "--model", "openai/gpt-stub", "--prompt", "Go.", "--run-id", "failed");
  process.env["OPENAI_BASE_URL"] = own;
  expect(failed).toMatchObject({ code: 1, out: "" });
  expect(failed.err).toMatch(/The model failed: .*agent resume failed/);
});
