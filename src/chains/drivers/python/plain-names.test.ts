/** A tool may have any name. What a script's own words mean, no name changes. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { runPython } from "../../../../test/fakes/python-scripts.ts";
import type { SandboxDriver, ToolSketch } from "../../sandbox.ts";
import { CpythonDriver } from "./cpython/cpython.ts";
import { keywords, standsAlone } from "./names.ts";

const drivers: readonly (SandboxDriver & AsyncDisposable)[] = [new CpythonDriver()];
const missing = new Map(await Promise.all(drivers.map(async (each) => [each.name, await each.unavailable()] as const)));
const plainPython = "/usr/bin/python3";

afterAll(() => Promise.all(drivers.map((driver) => driver[Symbol.asyncDispose]())));

const tools: readonly ToolSketch[] = [
  ...["print", "len", "sum", "sorted", "str", "help", "tools", "asyncio", "json", "progress", "ToolError", "artifacts"],
  ...["count", "class"],
].map((name) => ({ name, server: undefined, short: name, description: "", inputSchema: { properties: { text: {} } } }));

describe.each(drivers)("$name", (driver) => {
  it.skipIf(missing.get(driver.name) !== undefined)(
    "tools named as what Python has do not get its calls, and are called by their whole names",
    async () => {
      const source = `import json
print("secret")
found = [len("abc"), sum([1, 2]), sorted([2, 1]), str(5), json.dumps([1])]
try:
    1 / 0
except Exception as error:
    found.append(str(error))
progress("half")
found.append(tools.print(text="a").text)
found.append(tools.tools(text="b").text)
found`;
      const { last, batches, printed } = await runPython(driver, source, {}, tools);
      expect([printed, last]).toMatchObject([
        "secret\n",
        { step: "done", value: [3, 3, [1, 2], "5", "[1]", "division by zero", "text of a", "text of b"] },
      ]);
      expect(batches.flat().map(({ tool }) => tool)).toEqual(["progress", "print", "tools"]);
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "a method of a result is never a tool of that name",
    async () => {
      const { last, batches } = await runPython(driver, "r = tools.print(text='a')\nr.count('a')", {}, tools);
      expect(last.step).toBe("failed");
      expect(batches).toHaveLength(1);
    },
    60_000,
  );
});

it.skipIf(!existsSync(plainPython))("every name that is built into the Python here is known as taken", () => {
  const said = execFileSync(plainPython, [
    "-I",
    "-c",
    "import builtins, keyword; print(*dir(builtins), *keyword.kwlist)",
  ]);
  const names = said.toString().trim().split(" ");
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter((name) => standsAlone(name))).toEqual([]);
  expect(["echo", "create_issue", "send_email", "read"].filter((name) => !standsAlone(name))).toEqual([]);
  expect([...keywords].filter((name) => standsAlone(name))).toEqual([]);
});
