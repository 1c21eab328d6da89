/** Lines of source of each folder. A folder that grows by more than 5 % asks a question: is every feature in it still needed? */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const budgets: Readonly<Record<string, number>> = {
  agents: 6_653,
  approvals: 3_003,
  audit: 2_869,
  builtin: 8_666,
  cli: 7_835,
  "code-mode": 3_662,
  config: 1_751,
  core: 4_600,
  engines: 7_392,
  identity: 2_450,
  mcp: 6_313,
  observe: 6_458,
  pipeline: 4_170,
  policy: 5_259,
  results: 3_163,
  runtime: 3_245,
  secrets: 2_419,
  server: 6_345,
  store: 2_763,
  tools: 5_180,
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
