import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PosternProcess } from "../../../../test/fakes/postern-process.ts";

const cli = new PosternProcess();
const folder = mkdtempSync(join(tmpdir(), "postern-modules-"));
const data = join(folder, ".postern");
beforeAll(() => {
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "commonjs" }));
});
afterAll(() => {
  cli[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

it.each([
  ["tools.ts", 'import { join } from "node:path"; export const a = join;', '`"type": "module"` in the package.json'],
  ["required.mts", 'const { join } = require("node:path"); export const a = join;', "`import` and `export`"],
  ["package.mts", 'import { a } from "not-installed"; export const b = a;', "`npm install not-installed`"],
  ["beside.mts", 'import { a } from "./nowhere"; export const b = a;', "with its extension"],
  ["broken.mts", "export const a = ;", "Mend the module"],
  ["gone.mts", undefined, "Name an existing module"],
])("a module that cannot be loaded is told with what helps: %s", async (name, text, fix) => {
  if (text !== undefined) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, "postern.yaml"), `tools:\n  modules: [./${name}]\n`);
  const { code, err } = await cli.runIn(folder, "tools"); // Node's own words, which a test's loader has not
  expect(code).toBe(1);
  expect(err).toContain(`${name}\` cannot be loaded: `);
  expect(err.slice(err.indexOf(" Fix: "))).toContain(fix);
});
