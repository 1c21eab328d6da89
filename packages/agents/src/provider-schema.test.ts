import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Runtime } from "../../postern/src/runtime/api/api.ts";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import { type AgentTools, openAgentTools, type ToolUse } from "./agent-tools.ts";
import { anthropicTools, anthropicToolUses } from "./anthropic.ts";
import type { DeclareNote } from "./declare.ts";
import { googleTools, googleToolUses } from "./google.ts";
import { openaiChatTools, openaiChatToolUses, openaiTools, openaiToolUses } from "./openai.ts";
import { providerLimits, providerSchema } from "./provider-schema.ts";
import { toolSearch } from "./tool-search.ts";

const text = { type: "string" } as const;
const long = "k".repeat(80);
const odd = {
  type: "object",
  properties: {
    $filter: { ...text, description: "OData." },
    "user id": text,
    "issue_types[]": { type: "array", items: { $ref: "#/$defs/kind" } },
    Авто: text,
    [long]: text,
    plain: text,
  },
  required: ["$filter", "plain"],
  additionalProperties: false,
  $defs: { kind: { type: "object", properties: { "a b": text }, required: ["a b"], default: { "a b": "x" } } },
};
const given = { $filter: "x eq 1", plain: "p", "issue_types[]": [{ "a b": "bug" }], Авто: "ja", [long]: "l" };
const forms = {
  type: "object",
  properties: { by: text, id: text, name: text },
  required: ["by"],
  anyOf: [{ required: ["id"] }, { required: ["name"] }],
};
const shapes = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("circle"), radius: z.number() }),
  z.object({ kind: z.literal("box"), width: z.number(), height: z.number().optional() }),
]);

async function offering(): Promise<Runtime> {
  const local = { description: "D.", risk: "safe", idempotent: true } as const;
  const execute = (input: unknown): string => JSON.stringify(input);
  const schemas = { odd, forms, shapes, plain: { type: "object", properties: { q: text }, required: ["q"] } };
  return createRuntime({ tools: Object.entries(schemas).map(([name, input]) => ({ ...local, name, input, execute })) });
}

interface Declared {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly strict: boolean;
}

interface Provider {
  declare(tools: AgentTools, onNote?: (note: DeclareNote) => void): readonly object[];
  use(name: string, given: object): readonly ToolUse[];
}

const providers: Readonly<Record<string, Provider>> = {
  "OpenAI Responses": {
    declare: (tools, onNote) => openaiTools(tools.list(), onNote && { onNote }) as object[],
    use: (name, input) =>
      openaiToolUses([{ type: "function_call", call_id: "c", name, arguments: JSON.stringify(input) }]),
  },
  "OpenAI Chat": {
    declare: (tools, onNote) => openaiChatTools(tools.list(), onNote && { onNote }).map((one) => one.function),
    use: (name, input) =>
      openaiChatToolUses({ tool_calls: [{ id: "c", function: { name, arguments: JSON.stringify(input) } }] }),
  },
  Anthropic: {
    declare: (tools, onNote) => anthropicTools(tools.list(), onNote && { onNote }) as object[],
    use: (name, input) => anthropicToolUses([{ type: "tool_use", id: "c", name, input }]),
  },
  Gemini: {
    declare: (tools, onNote) =>
      googleTools(tools.list(), onNote && { onNote }).flatMap(
        (one) => (one as { functionDeclarations: object[] }).functionDeclarations,
      ),
    use: (name, args) => googleToolUses([{ functionCall: { id: "c", name, args } }]),
  },
};

function declared(provider: Provider, tools: AgentTools, onNote?: (note: DeclareNote) => void): readonly Declared[] {
  return provider.declare(tools, onNote).map((one) => {
    const { name, description, strict = false, ...rest } = one as Omit<Declared, "schema"> & JsonObject;
    const schema = rest["parameters"] ?? rest["input_schema"] ?? rest["parametersJsonSchema"];
    return { name, description, strict, schema: schema as JsonObject };
  });
}

/** The names of properties at every depth. */
function namesIn(schema: Json): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const own = isJsonObject(schema) && isJsonObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
  return [...own, ...Object.values(schema).flatMap((part: Json) => namesIn(part))];
}

/** As a model would write it: the tool's arguments under the declared names. */
function asDeclared(value: Json, names: ReadonlyMap<string, string>): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one: Json) => asDeclared(one, names));
  const entries = Object.entries(value).map(([name, inner]) => [names.get(name) ?? name, asDeclared(inner, names)]);
  return Object.fromEntries(entries) as JsonObject;
}

describe.each(Object.entries(providers))("%s", (_provider, provider) => {
  it("gets only property names and top keywords that every provider takes", async () => {
    await using runtime = await offering();
    await using tools = openAgentTools(runtime);
    for (const { schema } of declared(provider, tools)) {
      for (const name of namesIn(schema)) expect(name).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/);
      expect(schema["type"]).toBe("object");
      for (const keyword of ["anyOf", "oneOf", "allOf", "enum", "const", "not", "$ref"])
        expect(schema).not.toHaveProperty(keyword);
    }
  });

  it("calls with its names reach the tool under the tool's own names", async () => {
    await using runtime = await offering();
    await using tools = openAgentTools(runtime);
    const renamed = new Map([...providerSchema(odd).ownNames].map(([name, own]) => [own, name]));
    const [use] = provider.use("odd", asDeclared(given, renamed) as object);
    const answer = await tools.call(use ?? expect.fail("no call"));
    expect(JSON.parse(answer.text)).toEqual(given);
    const [own] = provider.use("odd", given);
    const again = { ...(own ?? expect.fail("no call")), turn: "2" };
    expect(JSON.parse((await tools.call(again)).text)).toEqual(given);
  });

  it("says the forms of a union in words, and the gate still refuses what fits none", async () => {
    await using runtime = await offering();
    await using tools = openAgentTools(runtime);
    const found = new Map(declared(provider, tools).map((one) => [one.name, one]));
    expect(found.get("forms")).toMatchObject({
      description: "D.\n\nThe arguments have at least one of these forms: `id`; `name`.",
      schema: { properties: { by: text, id: text, name: text }, required: ["by"] },
    });
    expect(found.get("shapes")).toMatchObject({
      description: expect.stringContaining(
        'of these forms: `kind` = "circle" and `radius`; `kind` = "box" and `width`.',
      ),
      schema: {
        properties: { kind: { anyOf: [{ const: "circle" }, { const: "box" }] }, radius: {}, width: {}, height: {} },
        required: ["kind"],
      },
    });
    const call = async (name: string, input: object): Promise<boolean> => {
      const [use] = provider.use(name, input);
      return !(await tools.call(use ?? expect.fail("no call"))).isError;
    };
    expect(await call("forms", { by: "x", name: "n" })).toBe(true);
    expect(await call("forms", { by: "x" })).toBe(false);
    expect(await call("shapes", { kind: "circle", radius: 1 })).toBe(true);
    expect(await call("shapes", { kind: "circle", width: 1 })).toBe(false);
  });

  it("is never strict for a tool whose union is only in the description", async () => {
    await using runtime = await offering();
    await using tools = openAgentTools(runtime);
    const notes: DeclareNote[] = [];
    const strict = declared(provider, tools, (note) => void notes.push(note)).filter((one) => one.strict);
    expect(strict.map(({ name }) => name)).not.toContain("forms");
    expect(strict.map(({ name }) => name)).not.toContain("shapes");
    if (provider !== providers["Gemini"])
      expect(notes.find(({ tool }) => tool === "forms")?.reason).toBe(
        "it has `anyOf` at the top, which the description says in words",
      );
  });
});

it("keeps a schema that every provider takes unchanged", () => {
  const schema: JsonObject = { type: "object", properties: { "a.b-c_1": text } };
  expect(providerSchema(schema)).toEqual({ parameters: schema, ownNames: new Map() });
  expect(providerSchema(schema).parameters).toBe(schema);
});

it("keeps two names that differ only in refused characters apart", () => {
  const { ownNames } = providerSchema({ type: "object", properties: { "a b": text, "a/b": text, "": text } });
  expect([...ownNames.values()]).toEqual(["a b", "a/b", ""]);
});

it("says the tool's own name in the description of a renamed property", () => {
  const { parameters, ownNames } = providerSchema(odd);
  const [name = ""] = [...ownNames].find(([, own]) => own === "$filter") ?? [];
  expect(parameters["properties"]).toHaveProperty(
    [name, "description"],
    "The tool's own name of it is `$filter`. OData.",
  );
  expect(parameters["required"]).toEqual([name, "plain"]);
  const inner = [...ownNames].find(([, own]) => own === "a b")?.[0] ?? "";
  expect(parameters["$defs"]).toMatchObject({ kind: { required: [inner], default: { [inner]: "x" } } });
});

it("merges references and parts at the top, also where a schema refers to itself", () => {
  const schema = {
    $ref: "#/$defs/all",
    $defs: {
      all: {
        type: "object",
        properties: { a: text },
        required: ["a"],
        allOf: [{ properties: { b: text } }, { not: { required: ["c"] } }],
      },
      self: { anyOf: [{ $ref: "#/$defs/self" }] },
    },
  };
  expect(providerSchema(schema)).toMatchObject({
    parameters: { type: "object", properties: { a: text, b: text }, required: ["a"] },
    note: 'They must also fit {"not":{"required":["c"]}}.',
  });
  expect(providerSchema({ ...schema, $ref: "#/$defs/self" }).parameters).toMatchObject({ properties: {} });
});

it("shows found tools as they are declared", async () => {
  await using runtime = await offering();
  runtime.tools.register(toolSearch(runtime));
  const { text: found } = await runtime.invoke(
    { tool: "tool_search", arguments: { query: "odd", format: "schema" } },
    { principal: { tenant: "default", agent: "a" } },
  );
  expect(JSON.parse(found)).toMatchObject([{ name: "odd", parameters: providerSchema(odd).parameters }]);
});

it("finds tools by words in any order and form, the best first", async () => {
  await using runtime = await offering();
  const made = { ...({ risk: "safe", effects: "read", idempotent: true } as const), execute: () => "" };
  const define = (name: string, description: string) => runtime.tools.register({ ...made, name, description });
  define("createPullRequest", "Opens a pull request.");
  define("list_branches", "Lists branches, and which of them a pull request is made of.");
  runtime.tools.register(toolSearch(runtime));
  const { text: found } = await runtime.invoke({ tool: "tool_search", arguments: { query: "requests pull create" } });
  expect(found.split("\n").map((line) => line.split(":")[0])).toEqual(["createPullRequest", "list_branches"]);
  define("merge_pull_request", "Merges.");
  const again = await runtime.invoke({ tool: "tool_search", arguments: { query: "merge" } });
  expect(again.text).toContain("merge_pull_request: Merges.");
});

it("names what providers refuse", () => {
  expect(providerLimits(odd)).toContain("the property `$filter`");
  expect(providerLimits(forms)).toEqual(["`anyOf` at the top"]);
});
