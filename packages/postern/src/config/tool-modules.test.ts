import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PosternProcess } from "../../../../test/fakes/postern-process.ts";

const cli = new PosternProcess();
const folder = mkdtempSync(join(tmpdir(), "postern-modules-"));
afterAll(() => {
  cli[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

const modules: readonly (readonly [name: string, text: string | undefined, fix: string])[] = [
  ["tools.ts", 'import { join } from "node:path"; export const a = join;', '`"type": "module"` in the package.json'],
  ["required.mts", 'const { join } = require("node:path"); export const a = join;', "`import` and `export`"],
  ["package.mts", 'import { a } from "not-installed"; export const b = a;', "`npm install not-installed`"],
  ["beside.mts", 'import { a } from "./nowhere"; export const b = a;', "with its extension"],
  ["broken.mts", "export const a = ;", "Mend the module"],
  ["gone.mts", undefined, "Name an existing module"],
];

/** Loads each module in one process of Node, whose words the fix depends on: a test's loader has others. */
const script = `
  import { loadToolModules } from ${JSON.stringify(new URL("tool-modules.ts", import.meta.url))};
  const [, folder, ...names] = process.argv;
  const message = (name) => loadToolModules([folder + "/" + name], "postern.yaml").catch((error) => error.message);
  console.log(JSON.stringify(Object.fromEntries(await Promise.all(names.map(async (name) => [name, await message(name)])))));
`;
let messages: Readonly<Record<string, string>>;
beforeAll(async () => {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "commonjs" }));
  for (const [name, text] of modules) if (text !== undefined) writeFileSync(join(folder, name), text);
  const words = ["--input-type=module", "--eval", script, folder, ...modules.map(([name]) => name)];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  messages = JSON.parse(stdout);
});

it.each(modules)("a module that cannot be loaded is told with what helps: %s", (name, _, fix) => {
  const { [name]: told = "" } = messages;
  expect(told).toContain(`${name}\` cannot be loaded: `);
  expect(told.slice(told.indexOf(" Fix: "))).toContain(fix);
});

it("a command with such a module ends with 1 and the same words", async () => {
  writeFileSync(join(cli.folder, "postern.yaml"), "tools:\n  modules: [./gone.mts]\n");
  const { code, err } = await cli.run("tools");
  expect(code).toBe(1);
  expect(err).toContain("gone.mts` cannot be loaded: ");
  expect(err.slice(err.indexOf(" Fix: "))).toContain("Name an existing module");
});
