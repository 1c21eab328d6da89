/** The example files that the README's commands name, run by these commands. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandLine } from "../fakes/command-line.ts";

const root = join(import.meta.dirname, "../..");
const examples = join(root, "examples");
const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
beforeAll(() => {
  const everything = {
    command: process.execPath,
    args: [join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
    tools: { "get-sum": { risk: "safe", effects: "read", idempotent: true } },
  };
  const sample = { tools: { modules: [join(examples, "tools.ts")] }, servers: { everything }, listen: { port: 0 } };
  writeFileSync(join(cli.folder, "postern.yaml"), JSON.stringify(sample));
});

it("`examples/script.py` runs and uses the results of its calls", { timeout: 60_000 }, async () => {
  const { code, out, err } = await cli.run("chain", "run", join(examples, "script.py"));
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(out).toMatch(/20\d\d-.*Z/);
  expect(out).toContain("The sum of 20 and 22 is 42.");
});

it("`examples/edited.yaml` lists the recorded calls it would answer differently", async () => {
  expect(await cli.run("call", "everything__get-sum", "a=2", "b=3")).toMatchObject({ code: 0 });
  const { code, out } = await cli.run("policy", "simulate", "--policy", join(examples, "edited.yaml"));
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("everything__get-sum") });
});
