import { expect, it } from "vitest";
import { readArtifact } from "../../builtin/read-artifact.ts";
import { createRuntime } from "../../runtime/create.ts";
import { preflight, schemaLimits } from "./preflight.ts";

const refused = (schema: unknown, why: RegExp): void => {
  const expected = expect.objectContaining({
    code: "options_invalid",
    message: expect.stringMatching(why),
  });
  expect(() => preflight(schema, "crm__find"), String(why)).toThrow(expected);
};

/** Each definition refers twice to the next: small to write, 2^levels to expand. */
function doubling(levels: number): object {
  const defs: Record<string, object> = {};
  for (let n = 0; n < levels; n += 1)
    defs[`d${n}`] = { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] };
  return { $defs: { ...defs, [`d${levels}`]: { type: "string" } }, $ref: "#/$defs/d0" };
}

it("passes an ordinary schema as frozen plain JSON that can be checked in process", () => {
  const given = {
    type: "object",
    properties: { to: { type: "string" }, list: { $ref: "#/$defs/list" } },
    $defs: { list: { type: "array" } },
  };
  const vetted = preflight(given, "t");
  expect(vetted).toMatchObject({
    schema: given,
    dialect: "2020-12",
    inProcess: true,
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(() => Object.assign(vetted.schema["properties"] ?? {}, { x: 1 })).toThrow(TypeError);
  given.type = "string";
  expect(vetted.schema["type"]).toBe("object");
});

it("refuses a schema that is no JSON object, and escapes hostile values", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  for (const given of [true, null, undefined, [], "x", () => 1])
    refused(given, /The schema of `crm__find` is refused: it is not a JSON object/);
  refused(cycle, /cycle/);
  refused({ const: 1n }, /bigint/);
  refused({ $schema: "\u202e" }, /`\\u\{202e\}`/);
});

it("refuses a schema that is too large or too deep, with the limit", () => {
  refused({ description: "x".repeat(schemaLimits.maxBytes) }, /262144/);
  refused(JSON.parse(`${'{"not":'.repeat(101)}{}${"}".repeat(101)}`), /deeper than 100 levels/);
  refused(JSON.parse(`${'{"not":'.repeat(5_000)}{}${"}".repeat(5_000)}`), /too deep|deeper than/);
  expect(preflight({ description: `${"[{".repeat(200)}"\\` }, "t").inProcess).toBe(true);
});

it("refuses references that leave the schema or lead nowhere", () => {
  for (const to of [
    "http://127.0.0.1/x",
    "file:///etc/passwd",
    "other.json",
    "//host/x",
    "https://json-schema.org/draft/2020-12/schema",
  ]) {
    refused({ properties: { a: { $ref: to } } }, /points out of it/);
    refused({ $dynamicRef: to }, /points out of it/);
  }
  refused({ $ref: "#/$defs/none" }, /points to nothing/);
  refused({ $ref: "#/constructor" }, /points to nothing/);
  refused({ $ref: "#nowhere" }, /names no anchor/);
  refused({ $defs: { a: { $id: "https://x.example/y" } } }, /only the whole schema may have one/);
  refused({ $id: "file:///x" }, /only the whole schema may have one/);
});

it("refuses references that expand beyond all bounds", () => {
  refused(doubling(40), /more than 100000 parts/);
  refused(doubling(300), /more than 100000 parts/);
  refused(doubling(2_000), /chained deeper than 1000 levels/);
  expect(preflight(doubling(8), "t").weight).toBeGreaterThan(256);
});

it("refuses to define a dialect: it would be everybody's", () => {
  refused({ $id: "https://json-schema.org/draft/2020-12/schema", $vocabulary: {} }, /\$vocabulary/);
  refused({ $schema: "https://evil.example/dialect" }, /must be one of 2020-12, 2019-09, draft-07/);
});

it("reads a part with a `$schema` of its own by the dialect of the whole", () => {
  const part = { $schema: "http://json-schema.org/draft-04/schema#", type: "string" };
  expect(preflight({ type: "object", properties: { a: part } }, "t").schema).toEqual({
    type: "object",
    properties: { a: { type: "string" } },
  });
});

it("knows every usual dialect, in its usual forms", () => {
  const dialects = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-04/schema#",
  ];
  expect(dialects.map(($schema) => preflight({ $schema }, "t").dialect)).toEqual([
    "2020-12",
    "2019-09",
    "draft-07",
    "draft-07",
    "draft-04",
  ]);
});

it("sends regular expressions, recursion, wide unique lists and large schemas to the worker", () => {
  const slow: readonly object[] = [
    { properties: { a: { pattern: "^a" } } },
    { patternProperties: { "^a": {} } },
    { $ref: "#" },
    { $defs: { node: { properties: { next: { $ref: "#/$defs/node" } } } }, $ref: "#/$defs/node" },
    { items: { $dynamicRef: "#" } },
    { uniqueItems: true },
    { uniqueItems: true, maxItems: 5_000 },
    { description: "x".repeat(schemaLimits.inProcessBytes) },
  ];
  expect(slow.map((schema) => preflight(schema, "t").inProcess)).toEqual(slow.map(() => false));
});

it("properties that are merely called like keywords are no keywords", () => {
  const properties = {
    pattern: { type: "string" },
    $ref: { type: "string" },
    $id: { type: "string" },
    uniqueItems: { type: "boolean" },
    $schema: { type: "string" },
  };
  expect(preflight({ type: "object", properties }, "t").inProcess).toBe(true);
});

it("takes what looks like a keyword inside data for data", () => {
  const properties = {
    a: { default: { $ref: "https://x.example/y" }, examples: [{ $id: "https://x.example/z" }] },
    b: { const: { $ref: "other.json", n: 1 } },
    c: { enum: ["x", { $ref: "#/nowhere" }] },
    d: { "x-note": { $ref: "nowhere.json", pattern: "(" } },
  };
  expect(() => preflight({ type: "object", properties }, "t")).not.toThrow();
});

it("refuses a pattern that is no regular expression, and says which", () => {
  refused({ properties: { a: { pattern: "(" } } }, /its pattern `\(` is not a regular expression/);
  refused({ patternProperties: { "[z-a]": {} } }, /its pattern `\[z-a\]` is not a regular expression/);
});

it("a tool that every server has is checked in the process: a thread takes 20 MB and a tenth of a second", async () => {
  await using runtime = await createRuntime({ tools: [readArtifact] });
  const [offer] = runtime.offered();
  expect(preflight(offer?.inputSchema, "t").inProcess).toBe(true);
});
