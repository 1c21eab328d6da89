/** Lines of source of each folder: the exact number when it was last set, and 5 % of room. More asks a question: is every feature in it still needed? */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const budgets: Readonly<Record<string, number>> = {
  "agents/src": 8_432,
  "core/src": 6_832,
  "engines/src": 6_864,
  "postern/src/approvals": 2_913,
  "postern/src/audit": 3_108,
  "postern/src/backup": 788,
  "postern/src/builtin": 7_255,
  "postern/src/call": 935,
  "postern/src/checks": 375,
  "postern/src/cli": 8_919,
  "postern/src/code-mode": 3_750,
  "postern/src/config": 2_055,
  "postern/src/connections": 1_272,
  "postern/src/identity": 2_743,
  "postern/src/mcp": 12_402,
  "postern/src/observe": 6_824,
  "postern/src/openapi": 1_437,
  "postern/src/pipeline": 4_560,
  "postern/src/policy": 5_676,
  "postern/src/results": 3_630,
  "postern/src/runtime": 4_132,
  "postern/src/secrets": 2_360,
  "postern/src/server": 5_528,
  "postern/src/store": 8_612,
  "postern/src/system": 611,
  "postern/src/testing": 2_537,
  "postern/src/tools": 5_111,
  "postern/src/workers": 2_271,
};

const root = join(import.meta.dirname, "../packages");
const library = "postern/src";

function foldersIn(path: string): readonly string[] {
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${path}/${name}`);
}

/** Each folder of `postern`, and each other package as a whole. */
const folders = [
  ...readdirSync(root).flatMap((name) => (name === "postern" ? [] : [`${name}/src`])),
  ...foldersIn(library),
];

function linesIn(folder: string): number {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(?:ts|js|py)$/.test(path) && !path.endsWith(".test.ts"))
    .reduce((sum, path) => sum + readFileSync(join(root, folder, path), "utf8").split("\n").length - 1, 0);
}

it.each(folders)("%s stays within 5 % of its number of lines", (name) => {
  expect(linesIn(name)).toBeLessThanOrEqual((budgets[name] ?? 0) * 1.05);
});
