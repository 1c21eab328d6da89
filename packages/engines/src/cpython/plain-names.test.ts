/** A tool may have any name. What a script's own words mean, no name changes. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { SandboxDriver, ToolSketch } from "@postern/core/sandbox";
import { afterAll, describe, expect, it } from "vitest";
import { runPython } from "../../../../test/fakes/python-scripts.ts";
import { CpythonDriver } from "./cpython.ts";
import { pythonSource } from "./prelude/prelude.ts";

const drivers: readonly (SandboxDriver & AsyncDisposable)[] = [new CpythonDriver()];
const missing = new Map(await Promise.all(drivers.map(async (each) => [each.name, await each.unavailable()] as const)));
const plainPython = "/usr/bin/python3";

afterAll(() => Promise.all(drivers.map((driver) => driver[Symbol.asyncDispose]())));

const tools: readonly ToolSketch[] = [
  ...["print", "len", "sum", "sorted", "str", "help", "tools", "asyncio", "json", "progress", "ToolError", "artifacts"],
  ...["count", "class"],
].map((name) => ({ name, server: undefined, short: name, description: "", inputSchema: { properties: { text: {} } } }));

describe.each(drivers)("$name", (driver) => {
  const awkward = ["class", "from", "None", "True", "match", "type", "a.b", "1st", "naïve", "x-y", "x_y"];
  const named: readonly ToolSketch[] = ["import", "None", "match", "print", "lambda"].map((name) => ({
    name: `srv__${name}`,
    ...{ server: "global", short: name, description: `It is ${name}.` },
    inputSchema: { properties: Object.fromEntries(awkward.map((member) => [member, {}])) },
  }));

  it.skipIf(missing.get(driver.name) !== undefined)(
    "keywords, leading digits and other signs in names of tools and arguments",
    async () => {
      const source = `tools.global_.import_(class_=1, from_=2, None_=3, True_=4, match=5, type=6, a_b=7, _1st=8, naïve=9, x_y=10)
tools.None_(**{"class": 1, "x-y": 2})
tools["lambda"]({"from": 1, "a.b": 2})
tools.global_["import"](1, 2)
import_(from_="bare")
match(match=1)
from tools import lambda_
lambda_(type=1)
from tools.global_ import print as shown
shown(x_y=1)
sorted(tools.global_)`;
      const { last, batches } = await runPython(driver, source, {}, named);
      expect(last).toMatchObject({ step: "done", value: ["None_", "import_", "lambda_", "match", "print"] });
      expect(batches.flat().map(({ tool, arguments: given }) => [tool, given])).toEqual([
        [
          "srv__import",
          { class: 1, from: 2, None: 3, True: 4, match: 5, type: 6, "a.b": 7, "1st": 8, naïve: 9, x_y: 10 },
        ],
        ["srv__None", { class: 1, "x-y": 2 }],
        ["srv__lambda", { from: 1, "a.b": 2 }],
        ["srv__import", { class: 1, from: 2 }],
        ["srv__import", { from: "bare" }],
        ["srv__match", { match: 1 }],
        ["srv__lambda", { type: 1 }],
        ["srv__print", { x_y: 1 }],
      ]);
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "a tool whose own name is `class_` keeps it from one that is named `class`",
    async () => {
      const both = ["class_", "class"].map((name) => ({
        ...{ name, server: undefined, short: name, description: "" },
        inputSchema: { properties: { class: {}, class_: {} } },
      }));
      const { last, batches } = await runPython(driver, "tools.class_(class_=1, **{'class': 2}).text", {}, both);
      expect(last).toMatchObject({ step: "done" });
      expect(batches.flat()).toMatchObject([{ tool: "class_", arguments: { class_: 1, class: 2 } }]);
    },
    60_000,
  );

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

it.skipIf(!existsSync(plainPython))("knows every built-in name of this Python", () => {
  const source = `${pythonSource("taken_names")}
import keyword
taken = [*dir(builtins), *keyword.kwlist]
print(len(taken), [name for name in taken if stands_alone(name) or not (name in TAKEN or name.startswith("_"))])
print([name for name in ("echo", "create_issue", "send_email", "read", "_hidden") if not stands_alone(name)])`;
  const [counted, alone] = execFileSync(plainPython, ["-I", "-c", source]).toString().trim().split("\n");
  expect(counted).toMatch(/^\d{3} \[\]$/);
  expect(alone).toBe("['_hidden']");
});
