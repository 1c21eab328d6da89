import type { JsonObject } from "@postern/core";
import fastCheck from "fast-check";
import { expect, it } from "vitest";
import type { Runtime } from "../../postern/src/runtime/api/api.ts";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import { openAgentTools } from "./agent-tools.ts";
import { anthropicResult, anthropicTools, anthropicToolUses } from "./anthropic.ts";
import type { DeclareNote } from "./declare.ts";
import { googleResult, googleTools, googleToolUses } from "./google.ts";
import { providerName } from "./names.ts";
import {
  openaiChatResult,
  openaiChatTools,
  openaiChatToolUses,
  openaiResult,
  openaiTools,
  openaiToolUses,
} from "./openai.ts";

const closed = { type: "object", properties: { q: { type: "string" } }, required: ["q"], additionalProperties: false };
const open = { type: "object", properties: { q: { type: "string" }, n: { type: "integer" } }, required: ["q"] };

async function withTools(): Promise<Runtime> {
  const runtime = await createRuntime();
  const local = { risk: "safe" as const, idempotent: true, description: "Looks." };
  runtime.tools.register({ ...local, name: "look", inputSchema: closed, execute: () => "seen" });
  runtime.tools.register({
    ...local,
    name: "search.all",
    inputSchema: open,
    deferLoading: true,
    execute: () => ({ hits: 2 }),
  });
  runtime.tools.register({
    name: "web",
    description: "Web.",
    providerSpecs: { openai: { type: "web_search_preview" } },
  });
  return runtime;
}

it("declares functions, hosted tools and deferred tools as OpenAI Responses takes them", async () => {
  await using runtime = await withTools();
  const notes: DeclareNote[] = [];
  const declared = openaiTools(openAgentTools(runtime).list(), { onNote: (note) => void notes.push(note) });
  expect(declared).toEqual([
    { type: "function", name: "look", description: "Looks.", parameters: closed, strict: true },
    expect.objectContaining({
      name: expect.stringMatching(/^search_all_[0-9a-f]{8}$/),
      strict: false,
      defer_loading: true,
    }),
    { type: "web_search_preview" },
    { type: "tool_search" },
  ]);
  expect(notes).toEqual([{ tool: "search.all", note: "not_strict", reason: "`arguments.n` is optional" }]);
});

it("leaves a hosted tool out for a provider without an entry and says so once", async () => {
  await using runtime = await withTools();
  const notes: DeclareNote[] = [];
  const onNote = (note: DeclareNote): void => void notes.push(note);
  const tools = openAgentTools(runtime).list();
  expect(anthropicTools(tools, { onNote }).map((tool) => (tool as { name: string }).name)).toEqual([
    "look",
    expect.stringMatching(/^search_all_/),
    "tool_search_tool_bm25",
  ]);
  expect(googleTools(tools, { onNote })).toEqual([
    { functionDeclarations: [expect.objectContaining({ name: "look" }), expect.anything()] },
  ]);
  expect(openaiChatTools(tools, { onNote })).toHaveLength(2);
  expect(notes.filter(({ note }) => note === "left_out").map(({ tool }) => tool)).toEqual(["web", "web", "web"]);
});

it("reads OpenAI's calls, runs them and answers each in its own form", async () => {
  await using runtime = await withTools();
  await using tools = openAgentTools(runtime);
  const output = [
    { type: "reasoning", id: "rs", summary: [] },
    { type: "web_search_call", id: "ws", status: "completed" },
    {
      type: "function_call",
      call_id: "c1",
      name: "look",
      arguments: '{"q":"a"}',
      caller: { type: "program", caller_id: "p" },
    },
    { type: "function_call", call_id: "c2", name: "look", arguments: '{"q":' },
    { type: "an_item_of_tomorrow", id: "x" },
  ];
  const uses = openaiToolUses(output);
  const answers = await tools.callAll(uses);
  const items = uses.flatMap((use, i) => openaiResult(use, answers[i] as (typeof answers)[number]));
  expect(items).toEqual([
    { type: "function_call_output", call_id: "c1", output: "seen", caller: { type: "program", caller_id: "p" } },
    { type: "function_call_output", call_id: "c2", output: expect.stringContaining("an object is needed") },
  ]);
});

it("reads Chat Completions, Anthropic and Gemini calls and answers them", async () => {
  await using runtime = await withTools();
  await using tools = openAgentTools(runtime);
  const [chatUse] = openaiChatToolUses({
    tool_calls: [{ id: "c", type: "function", function: { name: "look", arguments: '{"q":"a"}' } }],
  });
  const content = [
    { type: "text", text: "hm" },
    { type: "tool_use", id: "t", name: "look", input: { q: 1 }, caller: { type: "new_caller" } },
  ];
  const [anthropicUse] = anthropicToolUses([
    ...content,
    { type: "server_tool_use", id: "s", name: "web_search", input: {} },
  ]);
  const [googleUse] = googleToolUses([{ functionCall: { name: "search.all", args: { q: "x" } } }]);
  if (chatUse === undefined || anthropicUse === undefined || googleUse === undefined)
    throw new Error("a call was not read");
  expect(openaiChatResult(chatUse, await tools.call(chatUse))).toEqual({
    role: "tool",
    tool_call_id: "c",
    content: "seen",
  });
  expect(anthropicResult(anthropicUse, await tools.call(anthropicUse))).toMatchObject({
    ...{ type: "tool_result", tool_use_id: "t", is_error: true },
    content: expect.stringContaining("`q`"),
  });
  expect(googleResult(googleUse, await tools.call({ ...googleUse, name: providerName("search.all") }))).toEqual({
    ...{ name: "search.all", response: { output: { hits: 2 } } },
  });
});

it("records the provider's item of a call: short members, masked, without arguments", async () => {
  await using runtime = await createRuntime({ secretPatterns: "mask", approvals: { patience: "suspend" } });
  runtime.tools.register({
    ...{ name: "send", description: "Sends.", risk: "high", idempotent: false, inputSchema: { type: "object" } },
    execute: () => "sent",
  });
  await using tools = openAgentTools(runtime, { runId: "run-1" });
  const token = `ghp_${"a1B2".repeat(9)}`;
  const item = {
    ...{ type: "function_call", id: "fc_1", call_id: "call_1", status: "completed", note: token },
    ...{ arguments: '{"to":"ada"}', signature: "x".repeat(300), caller: { type: "direct" } },
  };
  const use = { id: "call_1", name: "send", arguments: { to: "ada" }, item };
  const { outcome } = await tools.call(use);
  const approvalId = outcome.approvalId ?? "";
  await runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "grace" } });
  await runtime.resume(approvalId);
  const [attempted] = await runtime.audit.query({ type: "tool_call.attempted" });
  expect(attempted?.data).toEqual({
    provider_item: {
      ...{ type: "function_call", id: "fc_1", call_id: "call_1", status: "completed" },
      note: expect.not.stringContaining(token),
    },
  });
  const odd = runtime.invoke({ tool: "send" }, { providerItem: "fc_1" as never });
  await expect(odd).rejects.toThrow(/`providerItem` is "fc_1"; it must be a JSON object/);
});

it("hands media by URL and by file id to each provider as media", async () => {
  const runtime = await withTools();
  const blocks = [
    { type: "image", source: { type: "url", url: "https://example.org/a.png" } },
    { type: "image", mediaType: "image/png", fileId: "file_1" },
    { type: "file", mediaType: "application/pdf", fileId: "file_2" },
  ];
  runtime.tools.register({
    ...{ name: "show", description: "Shows.", risk: "safe", idempotent: true, inputSchema: { type: "object" } },
    execute: () => ({ content: blocks }),
  });
  await using tools = openAgentTools(runtime);
  const use = { id: "1", name: "show" };
  const answer = await tools.call(use);
  expect(openaiResult({ ...use, item: { type: "function_call" } }, answer)).toMatchObject([
    {
      output: [
        { type: "input_image", image_url: "https://example.org/a.png" },
        { type: "input_image", file_id: "file_1" },
        { type: "input_file", file_id: "file_2" },
      ],
    },
  ]);
  expect(anthropicResult(use, answer).content).toEqual([
    { type: "image", source: { type: "url", url: "https://example.org/a.png" } },
    { type: "image", source: { type: "file", file_id: "file_1" } },
    { type: "document", source: { type: "file", file_id: "file_2" } },
  ]);
  expect(googleResult(use, answer).parts).toMatchObject([
    { fileData: { fileUri: "https://example.org/a.png" } },
    { fileData: { fileUri: "file_1", mimeType: "image/png" } },
    { fileData: { fileUri: "file_2", mimeType: "application/pdf" } },
  ]);
  await runtime.close();
});

it("sends a picture to each provider, also one that was stored as an artifact", async () => {
  await using runtime = await withTools();
  const data = Buffer.alloc(9_000, "picture").toString("base64");
  const content = [{ type: "image", mediaType: "image/png", data }];
  const photo = { risk: "safe" as const, idempotent: true, description: "Takes one.", inputSchema: closed };
  runtime.tools.register({ ...photo, name: "photo", execute: () => ({ content }) });
  await using tools = openAgentTools(runtime);
  const use = { id: "c", name: "photo", arguments: { q: "a" } };
  const answer = await tools.call(use);
  expect(answer.outcome.content).toEqual([expect.objectContaining({ artifact: expect.any(String) })]);
  expect(anthropicResult(use, answer).content).toEqual([
    { type: "image", source: { type: "base64", media_type: "image/png", data } },
  ]);
  expect(openaiResult(use, answer)).toMatchObject([{ output: [{ image_url: `data:image/png;base64,${data}` }] }]);
  expect(googleResult(use, answer)).toMatchObject({ parts: [{ inlineData: { mimeType: "image/png", data } }] });
});

it("maps every name to a provider's alphabet, the same one again, and different names apart", () => {
  const name = fastCheck.string({ minLength: 1, maxLength: 90 });
  void fastCheck.assert(
    fastCheck.property(name, name, (one, other) => {
      const mapped = providerName(one);
      expect(mapped).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
      expect(providerName(one)).toBe(mapped);
      if (one !== other) expect(providerName(other)).not.toBe(mapped);
    }),
  );
});

it("does not ask for strict mode where a provider would refuse the schema", async () => {
  await using runtime = await createRuntime();
  const schemas: Readonly<Record<string, JsonObject>> = {
    one_of: { type: "object", properties: { a: { oneOf: [{ type: "string" }] } }, required: ["a"] },
    open: { type: "object", properties: {}, additionalProperties: { type: "string" } },
    remote: { type: "object", properties: { a: { type: "array" } }, required: ["a"] },
    nested: {
      type: "object",
      properties: { a: { type: "object", properties: { b: { type: "string" } } } },
      required: ["a"],
    },
  };
  for (const [name, inputSchema] of Object.entries(schemas))
    runtime.tools.register({ name, description: "d", risk: "safe", idempotent: true, inputSchema, execute: () => "" });
  const notes: DeclareNote[] = [];
  openaiTools(openAgentTools(runtime).list(), { onNote: (note) => void notes.push(note) });
  expect(Object.fromEntries(notes.map(({ tool, reason }) => [tool, reason]))).toEqual({
    one_of: "`arguments.a` uses `oneOf`",
    open: "`arguments` takes members that are not listed",
    remote: "`arguments.a` does not describe its items",
    nested: "`arguments.a.b` is optional",
  });
});
