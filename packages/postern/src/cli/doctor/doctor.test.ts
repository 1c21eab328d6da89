import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandLine } from "../../../../../test/fakes/command-line.ts";
import { type DoctorFinding, engineFinding } from "./checks.ts";

let cli: CommandLine;
beforeAll(() => {
  cli = new CommandLine();
});
afterAll(() => cli[Symbol.dispose]());

const tool = `export default { name: "NAME", description: "x", input: { type: "object" }, risk: "safe",
  effects: "read", idempotent: true, execute: () => "x" };`;

/** A configuration in a folder of its own, and what doctor says of it. */
async function doctored(
  name: string,
  configuration: string,
  files: Readonly<Record<string, string>> = {},
): Promise<{
  readonly folder: string;
  readonly code: number | null;
  readonly err: string;
  readonly findings: readonly DoctorFinding[];
}> {
  const folder = join(cli.folder, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "postern.yaml"), configuration);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { code, out, err } = await cli.run("doctor", "--json", "--port", "0", "--config", join(folder, "postern.yaml"));
  return { folder, code, err, findings: JSON.parse(out).findings };
}

it("names each tool of a folder that does not register, and why, as a finding and not beside it", async () => {
  const { folder, code, err, findings } = await doctored("tools", "tools: { folders: [tools] }\n", {
    "tools/a/tool.mjs": tool,
    "tools/b/tool.mjs": "export const nothing = 1;",
    "tools/c/tool.mjs": "throw new Error('boom');",
    "tools/d/tool.mjs": tool,
  });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(findings.filter(({ check }) => check === "start")).toEqual(
    [
      `${folder}/tools/b/tool.mjs is skipped: it exports no tool.`,
      `${folder}/tools/c/tool.mjs is skipped: boom`,
      `${folder}/tools/d/tool.mjs is skipped: a tool named \`NAME\` was found before it.`,
    ].map((message) => ({ level: "warn", check: "start", message })),
  );
  expect(findings.find(({ check }) => check === "store")?.message).toContain("it offers");
});

it("says when no engine can run, with what each is without, and which one is down while others run", () => {
  const bubblewrap = "`bwrap` is not installed (apt-get install bubblewrap)";
  const away = { name: "cpython", language: "python", problem: bubblewrap } as const;
  const ready = { name: "quickjs", language: "javascript" } as const;
  expect(engineFinding([])).toMatchObject({ level: "ok", message: "code mode is off" });
  expect(engineFinding([away])).toEqual({
    level: "warn",
    check: "engines",
    message: `without cpython: ${bubblewrap}`,
    fix: "No script can run; install an engine, or see `chains.engines`.",
  });
  expect(engineFinding([ready, away])).toMatchObject({
    level: "warn",
    message: `quickjs (javascript)\nwithout cpython: ${bubblewrap}`,
    fix: expect.stringMatching(/apt install bubblewrap python3.*npm install pyodide deno/),
  });
  expect(engineFinding([ready, away, { name: "pyodide", language: "python" }])).toMatchObject({ level: "ok" });
  expect(engineFinding([ready, { ...away, down: true }])).toMatchObject({
    level: "warn",
    fix: "Repair `cpython`, or leave it out of `chains.engines`; until then scripts go to the others.",
  });
});

it("names each tool whose schema providers of models refuse", async () => {
  const input = '{ type: "object", properties: { $filter: { type: "string" } }, anyOf: [{ required: ["$filter"] }] }';
  const odd = tool.replace("NAME", "query").replace('{ type: "object" }', input);
  const files = { "tools/query/tool.mjs": odd, "tools/plain/tool.mjs": tool.replace("NAME", "plain") };
  const { findings } = await doctored("schemas", "tools: { folders: [tools] }\n", files);
  const found = findings.filter(({ check }) => check === "limits");
  expect(found.map(({ level, message }) => `${level} ${message}`)).toEqual([
    "warn Providers of models refuse a request with `query` as it is declared: the property `$filter`, `anyOf` at the top.",
  ]);
});
