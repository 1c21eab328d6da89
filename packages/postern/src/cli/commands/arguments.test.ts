import { expect, it } from "vitest";
import { UsageProblem } from "../usage-problem.ts";
import { argumentsFrom } from "./arguments.ts";

it("sends key=value as text, and --args as JSON", () => {
  const words = ["path=123", 'tags=["a"]', "note=a=b", "empty="];
  expect(argumentsFrom(undefined, words)).toEqual({
    text_arguments: { path: "123", tags: '["a"]', note: "a=b", empty: "" },
  });
  expect(argumentsFrom(undefined, ["__proto__=1"]).text_arguments).toHaveProperty("__proto__", "1");
  expect(argumentsFrom('{"count":4}', [])).toEqual({ arguments: { count: 4 } });
  expect(argumentsFrom(undefined, [])).toEqual({});
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
  const reading = (): unknown => argumentsFrom(json, words);
  expect(reading).toThrow(UsageProblem);
  expect(reading).toThrow(printed);
});
