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

it.each([
  [undefined, ["novalue"], "key=value"],
  [undefined, ["=x"], "key=value"],
  [undefined, ["a=1", "a=2"], "given twice"],
  ["{}", ["a=1"], "not both"],
  ["[1]", [], "must be a JSON object"],
  ['{"a":1,"a":2}', [], "is not JSON"],
  ["{", [], "is not JSON"],
])("refuses %j %j with how to write it", (json, words, said) => {
  const reading = (): unknown => argumentsFrom(json, words, schema);
  expect(reading).toThrow(UsageProblem);
  expect(reading).toThrow(said);
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
