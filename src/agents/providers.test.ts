import fastCheck from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject } from "../calls/json.ts";
import { createRuntime } from "../create.ts";
import type { Runtime } from "../face.ts";
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

it("sends a picture to each provider, also one that was kept as an artifact", async () => {
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
