import { expect, it } from "vitest";
import { UsageProblem } from "../usage-problem.ts";
import { argumentsFrom, sampleArguments } from "./arguments.ts";

const schema = {
  type: "object",
  properties: { path: { type: "string" }, count: { type: "integer" }, tags: { type: "array" } },
};

it("reads key=value as the tool's schema says", () => {
  expect(
    argumentsFrom(undefined, ["path=123", "count=4", 'tags=["a"]', "free=true", "note=a=b", "empty="], schema),
  ).toEqual({
    path: "123",
    count: 4,
    tags: ["a"],
    free: true,
    note: "a=b",
    empty: "",
  });
  expect(argumentsFrom(undefined, ["__proto__=1"], undefined)).toHaveProperty("__proto__");
});

const root = {
  $defs: {
    Id: { type: "string" },
    Port: { type: "integer" },
    "a/b": { anyOf: [{ type: "string" }, { type: "null" }] },
  },
};

it.each([
  ["a union with null", { type: ["string", "null"] }],
  ["a union of text and number", { type: ["string", "number"] }],
  ["anyOf with null", { anyOf: [{ type: "string" }, { type: "null" }] }],
  ["anyOf with a number", { anyOf: [{ type: "number" }, { type: "string", minLength: 1 }] }],
  [
    "oneOf",
    {
      oneOf: [
        { type: "string", format: "uuid" },
        { type: "array", items: { type: "string" } },
      ],
    },
  ],
  ["a reference", { $ref: "#/$defs/Id" }],
  ["a reference with an escaped name", { $ref: "#/$defs/a~1b" }],
  ["a reference in anyOf", { anyOf: [{ $ref: "#/$defs/Id" }, { type: "null" }] }],
  ["a reference in allOf", { allOf: [{ $ref: "#/$defs/Id" }, { minLength: 1 }] }],
  ["allOf", { allOf: [{ type: ["string", "number"] }, { type: "string" }] }],
  ["an enum of texts", { enum: ["1", "5", "007"] }],
  ["an enum of texts that lacks this one", { enum: ["1", "2"] }],
  ["a const", { const: "5" }],
  ["anyOf of consts", { anyOf: [{ const: "5" }, { const: "6" }] }],
  ["a nullable enum", { type: ["string", "null"], enum: ["5", null] }],
])("keeps a number as text: %s", (_, id) => {
  expect(argumentsFrom(undefined, ["id=5"], { ...root, properties: { id } })).toEqual({ id: "5" });
});

it.each([
  ["a number or null", { type: ["number", "null"] }],
  ["anyOf without text", { anyOf: [{ type: "integer" }, { type: "boolean" }] }],
  ["a reference", { $ref: "#/$defs/Port" }],
  ["a reference in allOf", { allOf: [{ $ref: "#/$defs/Port" }] }],
  ["allOf that excludes text", { allOf: [{ type: ["string", "integer"] }, { type: "integer" }] }],
  ["an enum of numbers", { enum: [1, 5] }],
  ["an enum with text that lists the number", { enum: ["auto", 5] }],
  ["a type that narrows an enum", { type: "integer", enum: ["5", 5] }],
  ["nothing that names a type", { description: "anything" }],
])("reads a number as a number: %s", (_, id) => {
  expect(argumentsFrom(undefined, ["id=5"], { ...root, properties: { id } })).toEqual({ id: 5 });
});

it("finds the schema of an argument wherever the tool's schema has it", () => {
  const id = { type: ["string", "null"] };
  for (const where of [
    { allOf: [{ properties: { id } }] },
    { anyOf: [{ properties: { id } }, { properties: { name: id } }] },
    { $ref: "#/$defs/Arguments", $defs: { Arguments: { properties: { id } } } },
    { additionalProperties: id },
  ])
    expect(argumentsFrom(undefined, ["id=5"], where)).toEqual({ id: "5" });
});

it("keeps true, null and JSON as text where a schema accepts text", () => {
  const words = ["a=true", "b=null", 'c={"x":1}', 'd="quoted"'];
  const nullable = { type: ["string", "null"] };
  const properties = { a: nullable, b: nullable, c: nullable, d: nullable };
  expect(argumentsFrom(undefined, words, { properties })).toEqual({
    a: "true",
    b: "null",
    c: '{"x":1}',
    d: '"quoted"',
  });
});

it("does not follow a schema that refers to itself without end", () => {
  const endless = { $ref: "#", properties: { id: { $ref: "#/properties/id" } } };
  expect(argumentsFrom(undefined, ["id=5"], endless)).toEqual({ id: 5 });
});

it.each([
  [undefined, ["novalue"], "key=value"],
  [undefined, ["=x"], "key=value"],
  [undefined, ["a=1", "a=2"], "given twice"],
  ["{}", ["a=1"], "not both"],
  ["[1]", [], "must be a JSON object"],
  ['{"a":1,"a":2}', [], "is not JSON"],
  ["{", [], "is not JSON"],
])("refuses %j %j with how to write it", (json, words, printed) => {
  const reading = (): unknown => argumentsFrom(json, words, schema);
  expect(reading).toThrow(UsageProblem);
  expect(reading).toThrow(printed);
});

it("makes up arguments that fit, to ask what would be decided", () => {
  expect(
    sampleArguments({
      required: ["a", "b", "c", "d", "e", "f", "missing"],
      properties: {
        a: { type: "string", minLength: 3 },
        b: { type: "integer", minimum: 5 },
        c: { enum: ["x", "y"] },
        d: { type: "array", minItems: 1, items: { type: "boolean" } },
        e: {
          type: "object",
          required: ["n"],
          properties: { n: { type: ["null", "number"], exclusiveMinimum: 0 } },
        },
        f: { anyOf: [{ const: 7 }, {}] },
      },
    }),
  ).toEqual({
    a: "hello",
    b: 5,
    c: "x",
    d: [false],
    e: { n: expect.anything() },
    f: 7,
    missing: "hello",
  });
  const endless: Record<string, unknown> = { type: "object", required: ["again"] };
  endless["properties"] = { again: endless };
  expect(() => sampleArguments(endless as never)).not.toThrow();
});
