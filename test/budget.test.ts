/** Lines of source of each folder: the exact number when it was last set, and 5 % of room. More asks a question: is every feature in it still needed? */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const budgets: Readonly<Record<string, number>> = {
  "agents/src": 8_432,
  "core/src": 6_498,
  "engines/src": 6_864,
  "postern/src/approvals": 2_694,
  "postern/src/audit": 2_954,
  "postern/src/builtin": 7_255,
  "postern/src/call": 881,
  "postern/src/checks": 375,
  "postern/src/cli": 8_172,
  "postern/src/code-mode": 3_750,
  "postern/src/config": 1_754,
  "postern/src/connections": 1_086,
  "postern/src/identity": 2_743,
  "postern/src/mcp": 11_701,
  "postern/src/observe": 5_473,
  "postern/src/openapi": 1_437,
  "postern/src/pipeline": 4_333,
  "postern/src/policy": 5_265,
  "postern/src/results": 3_154,
  "postern/src/runtime": 3_280,
  "postern/src/secrets": 2_360,
  "postern/src/server": 4_802,
  "postern/src/store": 2_924,
  "postern/src/system": 503,
  "postern/src/testing": 1_968,
  "postern/src/tools": 5_111,
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
