/** Lines of source of each folder. A folder that grows by more than 5 % asks a question: is every feature in it still needed? */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const budgets: Readonly<Record<string, number>> = {
  agents: 5_186,
  approvals: 2_878,
  audit: 2_767,
  builtin: 7_847,
  cli: 7_743,
  "code-mode": 3_162,
  config: 1_543,
  core: 4_095,
  engines: 7_307,
  identity: 2_450,
  mcp: 5_856,
  observe: 6_378,
  pipeline: 3_573,
  policy: 5_118,
  results: 2_705,
  runtime: 2_963,
  secrets: 2_181,
  server: 6_213,
  store: 2_486,
  tools: 4_590,
};

const source = join(import.meta.dirname, "../src");

function linesIn(folder: string): number {
  return readdirSync(join(source, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(?:ts|js|py)$/.test(path) && !path.endsWith(".test.ts"))
    .reduce((sum, path) => sum + readFileSync(join(source, folder, path), "utf8").split("\n").length - 1, 0);
}

const folders = readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isDirectory());

it.each(folders.map(({ name }) => name))("src/%s stays within 5 % of its number of lines", (name) => {
  expect(linesIn(name)).toBeLessThanOrEqual((budgets[name] ?? 0) * 1.05);
});
