import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { type FoundTool, scanCatalogue } from "./catalogue.ts";

const base = mkdtempSync(join(tmpdir(), "catalogue-"));
afterAll(() => rmSync(base, { recursive: true }));

let made = 0;
function root(files: Readonly<Record<string, string>>): string {
  made += 1;
  const at = join(base, String(made));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(at, path)), { recursive: true });
    writeFileSync(join(at, path), text);
  }
  return at;
}
const source = (name: string): string =>
  `export default { name: "${name}", description: "d", risk: "safe", idempotent: true, execute: () => "x" };`;
const names = (found: readonly FoundTool[]): readonly string[] => found.map(({ name }) => name);

it("a tool class in a folder is found without registration (case 36)", async () => {
  const at = root({
    "my_mock_tool/tool.mjs": `export const other = 1;\nexport class MockTool { name = "mock"; description = "d"; risk = "safe"; idempotent = true; execute() { return "x"; } }`,
  });
  const [found, ...more] = await scanCatalogue(at);
  expect(more).toEqual([]);
  expect(found).toMatchObject({
    name: "my_mock_tool",
    component: "tool",
    tool: { name: "mock" },
    path: join(at, "my_mock_tool/tool.mjs"),
  });
});

it("skips unusable folders and modules with a warning (case 37)", async () => {
  const warn = vi.fn();
  const at = root({
    ...{
      "_private/tool.mjs": source("p"),
      "broken/tool.mjs": "throw new Error('boom');",
      "syntax/tool.mjs": "export {{",
      "none/tool.mjs": "export const x = 1;",
    },
    ...{
      "needy/tool.mjs": "export class T { constructor() { throw new Error('needs'); } }",
      "good/tool.mjs": source("good"),
      "empty/readme.md": "",
      "file.txt": "",
    },
  });
  expect(names(await scanCatalogue(at, { warn }))).toEqual(["good"]);
  expect(
    warn.mock.calls
      .flat()
      .sort()
      .map((line: string) => line.slice(at.length + 1).split("/")[0]),
  ).toEqual(["broken", "needy", "none", "syntax"]);
});

it("of one package name in two roots the first wins (case 38)", async () => {
  const [one, two] = [
    root({ "same/tool.mjs": source("first") }),
    root({ "same/tool.mjs": source("second"), "also/tool.mjs": source("first") }),
  ];
  const warn = vi.fn();
  const found = await scanCatalogue([one, two], { warn });
  expect(found.map(({ name, tool }) => [name, tool.name])).toEqual([["same", "first"]]);
  expect(warn.mock.calls.flat()).toEqual([expect.stringContaining("a tool named `first` was found before it")]);
});

it("results are sorted and repeatable (case 39)", async () => {
  const at = root({
    "c/tool.mjs": source("c"),
    "a/tool.ts": source("a"),
    "b/tool.js": source("b"),
  });
  const found = names(await scanCatalogue(at));
  expect(found).toEqual(["a", "b", "c"]);
  expect(names(await scanCatalogue(at))).toEqual(found);
});

it("a root that is not there is one warning", async () => {
  const warn = vi.fn();
  expect(await scanCatalogue(join(base, "nowhere"), { warn })).toEqual([]);
  expect(warn).toHaveBeenCalledTimes(1);
});
