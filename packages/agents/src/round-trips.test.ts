/** A model's turns through each provider's form and back: whatever it sends, each call is answered and nothing runs twice. */

import type { JsonObject } from "@postern/core";
import fastCheck from "fast-check";
import { expect, it } from "vitest";
import type { Runtime } from "../../postern/src/runtime/api/api.ts";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import type { LocalTool } from "../../postern/src/tools/kinds.ts";
import { openAgentTools, type RenderedToolAnswer, type ToolUse } from "./agent-tools.ts";
import { anthropicResult, anthropicToolUses } from "./anthropic.ts";
import { googleResult, googleToolUses } from "./google.ts";
import { openaiChatResult, openaiChatToolUses, openaiResult, openaiToolUses } from "./openai.ts";

interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON text, as a model writes it. */
  readonly arguments: string;
}

interface Provider {
  /** A turn with these calls in the provider's form, among items of other types. */
  readonly uses: (calls: readonly Call[], others: readonly unknown[]) => readonly ToolUse[];
  readonly result: (use: ToolUse, answer: RenderedToolAnswer) => unknown;
  /** The id that a result names. */
  readonly idIn: (result: unknown) => unknown;
  /** What the model reads. */
  readonly textIn: (result: unknown) => unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** Anthropic and Gemini send arguments as JSON, so text that is no JSON cannot arrive from them: it stays text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const providers: Readonly<Record<string, Provider>> = {
  openai: {
    uses: (calls, others) =>
      openaiToolUses([
        ...others,
        ...calls.map(({ id, name, arguments: given }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: given,
        })),
      ]),
    result: (use, answer) => openaiResult(use, answer)[0],
    idIn: (result) => (result as Fields)["call_id"],
    textIn: (result) => (result as Fields)["output"],
  },
  "openai chat": {
    uses: (calls, others) =>
      openaiChatToolUses({
        tool_calls: [...others, ...calls.map(({ id, ...named }) => ({ id, type: "function", function: named }))],
      }),
    result: openaiChatResult,
    idIn: (result) => (result as Fields)["tool_call_id"],
    textIn: (result) => (result as Fields)["content"],
  },
  anthropic: {
    uses: (calls, others) =>
      anthropicToolUses([
        ...others,
        ...calls.map(({ id, name, arguments: given }) => ({ type: "tool_use", id, name, input: parsed(given) })),
      ]),
    result: anthropicResult,
    idIn: (result) => (result as Fields)["tool_use_id"],
    textIn: (result) => (result as Fields)["content"],
  },
  google: {
    uses: (calls, others) =>
      googleToolUses([
        ...others,
        ...calls.map(({ id, name, arguments: given }) => ({ functionCall: { id, name, args: parsed(given) } })),
      ]),
    result: googleResult,
    idIn: (result) => (result as Fields)["id"],
    textIn: (result) => {
      const { error, output } = (result as { readonly response: Fields }).response;
      return error ?? output;
    },
  },
};

/** Keeps what it was called with. */
function keeper(name: string, ran: JsonObject[], more: Partial<LocalTool> = {}): LocalTool {
  return {
    ...{ name, description: "Keeps.", risk: "safe", effects: "write", idempotent: false },
    inputSchema: { type: "object" },
    execute: (input) => {
      ran.push(input as JsonObject);
      const { at } = input as JsonObject;
      return at === undefined ? "kept" : `kept ${at}`;
    },
    ...more,
  };
}

async function opened(tools: readonly LocalTool[]): Promise<Runtime> {
  const runtime = await createRuntime({ tools, approvals: { patience: "suspend" } });
  runtime.tools.register({ name: "web", description: "Web.", providerSpecs: { openai: { type: "web_search" } } });
  return runtime;
}

const numbered = (count: number, name: string): readonly Call[] =>
  Array.from({ length: count }, (_, i) => ({ id: `c${i}`, name, arguments: `{"at":${i}}` }));

const names = ["keep", "web", "ghost", "constructor", "__proto__", "", "tool search", "k".repeat(200)];
const callOf = fastCheck.record({
  id: fastCheck.constantFrom("a", "b", "c", "d", "__proto__"), // a small pool: ids come twice
  name: fastCheck.oneof({ weight: 3, arbitrary: fastCheck.constant("keep") }, fastCheck.constantFrom(...names)),
  arguments: fastCheck.oneof(
    fastCheck
      .dictionary(fastCheck.constantFrom("tool", "arguments", "n", "__proto__"), fastCheck.nat(1))
      .map((given) => JSON.stringify(given)),
    fastCheck.constantFrom('{"n":', "[1]", "null", '"text"', "7", '{"n":1,"n":2}', "", '{"__proto__":{"x":1}}'),
  ),
});
const otherItem = fastCheck.oneof(
  fastCheck.constantFrom<unknown>(null, undefined, 3, "text", [], {}, { type: 7 }, { functionCall: null }),
  fastCheck.record({ type: fastCheck.constantFrom("reasoning", "web_search_call", "server_tool_use", "of_tomorrow") }),
);

it.each(Object.keys(providers))("%s: answers every generated call by its id and runs none twice", async (key) => {
  const provider = providers[key] as Provider; // a key of it
  const turn = fastCheck.array(callOf, { maxLength: 8 }).map((calls) => [...calls, ...calls.slice(0, 3)]);
  await fastCheck.assert(
    fastCheck.asyncProperty(turn, fastCheck.array(otherItem, { maxLength: 4 }), async (calls, others) => {
      const ran: JsonObject[] = [];
      await using runtime = await opened([keeper("keep", ran)]);
      await using tools = openAgentTools(runtime, { runId: "turn" });
      const uses = provider.uses(calls, others);
      expect(uses.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
      const answers = await tools.callAll(uses);
      const results = uses.map((use, i) => provider.result(use, answers[i] as RenderedToolAnswer)); // an answer a use
      expect(results.map(provider.idIn)).toEqual(calls.map(({ id }) => id));
      for (const result of results) expect(provider.textIn(result)).toMatch(/\S/);
      expect(tools.session.callCount).toBe(calls.length);
      const own = calls.filter(({ name }) => name === "keep").map((call) => `${call.id} ${call.arguments}`);
      expect(ran.length).toBeLessThanOrEqual(new Set(own).size);
      expect(Object.prototype).not.toHaveProperty("x");
    }),
    { numRuns: 40 },
  );
});

it.each(Object.keys(providers))("%s: answers 300 calls of one turn in order, each run once", async (key) => {
  const provider = providers[key] as Provider; // a key of it
  const ran: JsonObject[] = [];
  await using runtime = await opened([keeper("keep", ran, { concurrencySafe: true })]);
  await using tools = openAgentTools(runtime);
  const uses = provider.uses(numbered(300, "keep"), []);
  const answers = await tools.callAll(uses);
  const results = uses.map((use, i) => provider.result(use, answers[i] as RenderedToolAnswer)); // an answer a use
  expect(results.map(provider.idIn)).toEqual(uses.map(({ id }) => id));
  expect(results.map(provider.textIn)).toEqual(Array.from({ length: 300 }, (_, i) => `kept ${i}`));
  expect(ran.map(({ at }) => at).toSorted((one, other) => Number(one) - Number(other))).toEqual(
    Array.from({ length: 300 }, (_, i) => i),
  );
});

it("keeps the order of answers when tools end in another order", async () => {
  const open: (() => void)[] = [];
  const execute: LocalTool["execute"] = (input) =>
    new Promise((resolve) => {
      open.push(() => resolve(`end of ${(input as { at: number }).at}`));
      if (open.length === 20) for (const end of open.toReversed()) end();
    });
  await using runtime = await opened([keeper("keep", [], { concurrencySafe: true, execute })]);
  await using tools = openAgentTools(runtime);
  const answers = await tools.callAll(openaiToolUses(numbered(20, "keep").map((call) => item(call))));
  expect(answers.map(({ text }) => text)).toEqual(Array.from({ length: 20 }, (_, i) => `end of ${i}`));
});

it("runs no more of 300 parallel calls than the budget has", async () => {
  const ran: JsonObject[] = [];
  await using runtime = await opened([keeper("keep", ran, { concurrencySafe: true })]);
  await using tools = openAgentTools(runtime, { limits: { maxToolCalls: 100 } });
  const answers = await tools.callAll(openaiToolUses(numbered(300, "keep").map((call) => item(call))));
  expect(ran).toHaveLength(100);
  expect(answers.filter(({ outcome }) => outcome.refusal?.code === "budget_exhausted")).toHaveLength(200);
});

it("runs a call that comes twice once, and other arguments under its id as another call", async () => {
  const ran: JsonObject[] = [];
  await using runtime = await opened([keeper("keep", ran)]);
  await using tools = openAgentTools(runtime);
  const calls = ['{"at":1}', '{ "at": 1 }', '{"at":2}'].map((given) =>
    item({ id: "x", name: "keep", arguments: given }),
  );
  const answers = await tools.callAll(openaiToolUses(calls));
  expect(answers.map(({ text }) => text)).toEqual([
    "kept 1",
    expect.stringMatching(/^This is the answer of the same call made before .*\n\nkept 1$/s),
    "kept 2",
  ]);
  expect(ran).toEqual([{ at: 1 }, { at: 2 }]);
});

it("tells the model that the provider runs a hosted tool", async () => {
  await using runtime = await opened([]);
  await using tools = openAgentTools(runtime);
  const [answer] = await tools.callAll(openaiToolUses([item({ id: "w", name: "web", arguments: "{}" })]));
  expect(answer?.text).toContain("`web` is run by the provider; nothing ran here");
});

it.each([
  ['{"to":', "not valid JSON"],
  ['{"n":1,"n":2}', "twice"],
  ['{"__proto__":{"x":1}}', "__proto__"],
])("tells the model what is wrong with %s", async (given, problem) => {
  const ran: JsonObject[] = [];
  await using runtime = await opened([keeper("keep", ran)]);
  await using tools = openAgentTools(runtime);
  const [answer] = await tools.callAll(openaiToolUses([item({ id: "c", name: "keep", arguments: given })]));
  expect(answer).toMatchObject({ isError: true, outcome: { refusal: { code: "arguments_invalid" } } });
  expect(answer?.text).toContain(problem);
  expect(ran).toEqual([]);
});

it.each(["tool", "arguments", "action", "id", "name", "constructor", "toString"])(
  "hands a tool its own argument named %s",
  async (name) => {
    const ran: JsonObject[] = [];
    const inputSchema = JSON.parse(
      `{"type":"object","properties":{"${name}":{"type":"object"}},"required":["${name}"],"additionalProperties":false}`,
    );
    await using runtime = await opened([keeper("keep", ran, { inputSchema })]);
    await using tools = openAgentTools(runtime);
    const given = `{"${name}":{"x":1}}`;
    const [answer] = await tools.callAll(openaiToolUses([item({ id: "c", name: "keep", arguments: given })]));
    expect(answer?.text).toBe("kept");
    expect(JSON.stringify(ran[0])).toBe(given);
    expect(({} as Fields)["x"]).toBeUndefined();
  },
);

it("takes an argument named `$artifact` for a reference, and runs nothing when it names none", async () => {
  const ran: JsonObject[] = [];
  await using runtime = await opened([keeper("keep", ran)]);
  await using tools = openAgentTools(runtime);
  const given = ['{"$artifact":"x"}', '{"in":{"$artifact":"x"}}', '{"$artifact":"x","more":1}', '{"$artifact":7}'];
  const calls = given.map((text, i) => item({ id: `c${i}`, name: "keep", arguments: text }));
  const [whole, inside, beside, noText] = await tools.callAll(openaiToolUses(calls));
  for (const answer of [whole, inside, beside])
    expect(answer).toMatchObject({ isError: true, outcome: { refusal: { code: "artifact_unavailable" } } });
  expect([whole?.text, inside?.text]).toEqual([
    expect.stringMatching(/^`\$artifact` names the artifact `x`/),
    expect.stringMatching(/^`in` names the artifact `x`/),
  ]);
  expect(noText?.text).toBe("kept");
  expect(ran).toEqual([{ $artifact: 7 }]);
});

it("answers a refused call 1,000 times until the budget ends, and runs nothing", async () => {
  const ran: JsonObject[] = [];
  await using runtime = await opened([keeper("keep", ran, { risk: "high" })]);
  await using tools = openAgentTools(runtime, { limits: { maxToolCalls: 900 } });
  const codes = new Map<string, number>();
  for (let i = 0; i < 1000; i += 1) {
    const [answer] = await tools.callAll(openaiToolUses([item({ id: `c${i}`, name: "keep", arguments: "{}" })]));
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/\S/) });
    const code = answer?.outcome.refusal?.code ?? answer?.outcome.status ?? "";
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  expect(Object.fromEntries(codes)).toEqual({ pending: 900, budget_exhausted: 100 });
  expect(await runtime.approvals.list()).toHaveLength(1);
  expect(ran).toEqual([]);
});

function item({ id, name, arguments: given }: Call): JsonObject {
  return { type: "function_call", call_id: id, name, arguments: given };
}
