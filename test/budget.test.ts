/** Lines of source a folder may have. Lower a number whenever you can; raise one only together with a decision in docs/decisions. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const budgets: Readonly<Record<string, number>> = {
  accounts: 2_450,
  agents: 5_300,
  alarms: 920,
  approvals: 2_860,
  audit: 3_110,
  calls: 3_000,
  chains: 12_220,
  channels: 1_500,
  config: 1_810,
  doors: 18_300,
  executors: 820,
  gates: 1_450,
  ledger: 880,
  policy: 5_560,
  results: 2_750,
  runtime: 2_200,
  secrets: 2_200,
  stores: 2_500,
  system: 800,
  tools: 17_740,
  watchers: 4_160,
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
