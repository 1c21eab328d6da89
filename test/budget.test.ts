/** Lines of source a folder may have. Lower a number whenever you can; raise one only together with a decision in docs/decisions. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const budgets: Readonly<Record<string, number>> = {
  agents: 5_224,
  approvals: 2_884,
  audit: 3_112,
  builtin: 8_227,
  cli: 8_943,
  "code-mode": 3_475,
  config: 1_806,
  core: 4_101,
  engines: 8_488,
  identity: 2_451,
  mcp: 6_014,
  observe: 6_491,
  pipeline: 3_547,
  policy: 5_557,
  results: 2_719,
  runtime: 2_968,
  secrets: 2_193,
  server: 7_125,
  store: 2_523,
  tools: 4_843,
};

const source = join(import.meta.dirname, "../src");

function linesIn(folder: string): number {
  return readdirSync(join(source, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(?:ts|js|py)$/.test(path) && !path.endsWith(".test.ts"))
    .reduce((sum, path) => sum + readFileSync(join(source, folder, path), "utf8").split("\n").length - 1, 0);
}

const folders = readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isDirectory());

it.each(folders.map(({ name }) => name))("src/%s stays within its budget of lines", (name) => {
  expect(linesIn(name)).toBeLessThanOrEqual(budgets[name] ?? 0);
});
