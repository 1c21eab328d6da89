/** Lines of source a folder may have. Lower a number whenever you can; raise one only together with a decision in docs/decisions. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const budgets: Readonly<Record<string, number>> = {
  accounts: 2_480,
  agents: 5_250,
  alarms: 930,
  approvals: 2_910,
  audit: 3_140,
  calls: 3_350,
  chains: 12_180,
  channels: 1_500,
  config: 1_830,
  doors: 16_890,
  executors: 830,
  gates: 1_450,
  ledger: 880,
  policy: 5_580,
  results: 2_740,
  runtime: 2_210,
  secrets: 2_220,
  stores: 2_480,
  system: 790,
  tools: 17_780,
  watchers: 4_150,
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
