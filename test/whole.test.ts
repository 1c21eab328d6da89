import { globSync } from "node:fs";
import { expect, it } from "vitest";
import { heavy, readers } from "./setup/whole.ts";

/** The patterns without braces that a pattern with braces stands for. */
function alternatives(pattern: string): readonly string[] {
  const [all, choices] = /\{([^{}]*)\}/.exec(pattern) ?? [];
  if (all === undefined || choices === undefined) return [pattern];
  return choices.split(",").flatMap((choice) => alternatives(pattern.replace(all, choice)));
}

it("the whole run includes each listed suite once", () => {
  const found = [...heavy.flatMap(alternatives), ...readers].map((pattern) => [pattern, globSync(pattern)] as const);
  expect(found.filter(([, files]) => files.length === 0)).toEqual([]);
  const files = found.flatMap(([, each]) => each);
  expect(files).toEqual([...new Set(files)]);
});
