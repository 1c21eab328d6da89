import { globSync } from "node:fs";
import { expect, it } from "vitest";
import { apart, hasStoryStores, onPostgres, system } from "./setup/groups.ts";

/** The patterns without braces that a pattern with braces stands for. */
function alternatives(pattern: string): readonly string[] {
  const [all, choices] = /\{([^{}]*)\}/.exec(pattern) ?? [];
  if (all === undefined || choices === undefined) return [pattern];
  return choices.split(",").flatMap((choice) => alternatives(pattern.replace(all, choice)));
}

it("the system run includes each listed suite once", () => {
  const found = system.flatMap(alternatives).map((pattern) => [pattern, globSync(pattern)] as const);
  expect(found.filter(([, files]) => files.length === 0)).toEqual([]);
  const files = found.flatMap(([, each]) => each);
  expect(files).toEqual([...new Set(files)]);
});

it("the stories that run on PostgreSQL can: they leave it to the run where their rows are", () => {
  const found = onPostgres.flatMap(alternatives).map((pattern) => [pattern, globSync(pattern)] as const);
  expect(found.filter(([, files]) => files.length === 0)).toEqual([]);
  const files = found.flatMap(([, each]) => each);
  expect(files.filter((file) => !hasStoryStores(file) || apart.includes(file))).toEqual([]);
});
