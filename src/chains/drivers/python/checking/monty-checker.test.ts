import { readdirSync, readFileSync } from "node:fs";
import { Monty } from "@pydantic/monty";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { ancestorsOf } from "../../../../../test/fakes/ancestors.ts";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import { cpuMsOf } from "../../../../../test/fakes/process-tree.ts";
import { createRuntime } from "../../../../index.ts";
import { defineTool } from "../../../../tools/define.ts";
import type { Program, ToolSketch } from "../../../sandbox.ts";
import { CpythonDriver } from "../cpython/cpython.ts";
import { MontyDriver } from "../monty/monty.ts";
import { checkerRole, rehearsedText } from "./monty-rehearsal.ts";
import { pythonStubs } from "./stubs.ts";

const missing = await new MontyDriver().unavailable();
const noCpython = await new CpythonDriver().unavailable();
const inputSchema = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
  additionalProperties: false,
};
const read: ToolSketch = { name: "fs_read", server: "fs", short: "read", description: "Reads.", inputSchema };

function program(source: string, owner = "one"): Program {
  return { language: "python", source, tools: [read], chainId: "chain_1", owner };
}

/** Monty's checker ends its process over it. */
const deadly = `x = 1\nfor i in range(9):\n${Array.from({ length: 3_000 }, (_, i) => `    x = (x, ${i})`).join("\n")}\nlen(x)`;
/** Types that double with every line. */
const doubling = `x = {'a': 1}\n${"x = {'a': x, 'b': [x, (x, x)]}\n".repeat(40)}`;

/** Checkers of this process, the oldest first. */
function checkers(): readonly number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .filter((pid) => isChecker(pid))
    .map(Number)
    .sort((one, other) => one - other);
}

function isChecker(pid: string): boolean {
  try {
    const isOurs = ancestorsOf(Number(pid)).includes(process.pid);
    return isOurs && readFileSync(`/proc/${pid}/cmdline`, "latin1").endsWith(`${checkerRole}\0`);
  } catch {
    return false; // it has just ended
  }
}

describe.skipIf(missing !== undefined)("the checker", () => {
  let driver = new MontyDriver();

  afterEach(async () => {
    await driver[Symbol.asyncDispose]();
    driver = new MontyDriver();
  });

  it("is ended when nobody waits for its verdict any more, and asked again it has one", async () => {
    const left = new AbortController();
    const asked = driver.check(program(doubling), left.signal);
    await expect.poll(() => checkers().length).toBeGreaterThan(0);
    left.abort();
    expect(await asked).toEqual({ unsupported: "nobody waits for its checker" });
    expect(await driver.check(program("tools.fs.read(path='a').text"))).toBeUndefined();
  });

  it("refuses an ill-typed script with its line, and nothing is called", async () => {
    let called = 0;
    const tool = defineTool({
      ...{ name: "read", description: "Reads.", risk: "safe", effects: "read", idempotent: true, input: inputSchema },
      execute: () => `read ${++called}`,
    });
    const runtime = await createRuntime({ tools: [tool], chains: { engines: ["monty"] } });
    try {
      const run = (code: string) => runtime.runChain({ code, language: "python" });
      expect(await run("tools.read(path='a')\nprint('went on')\ntools.read(path=3)")).toMatchObject({
        status: "error",
        text: expect.stringContaining("Line 3: Argument to `tools.read` is incorrect"),
      });
      expect(called).toBe(0);
      expect(await run("tools.read(path='a').text")).toMatchObject({ status: "ok" });
      expect(called).toBe(1);
    } finally {
      await runtime.close();
    }
  }, 60_000);

  it.skipIf(process.platform !== "linux")(
    "that is killed over a script says nothing of it: another one reads it, and stops where types have no end",
    async () => {
      await driver.check(program("1 + 1"));
      const before = new Map(checkers().map((pid) => [pid, cpuMsOf(pid) ?? 0]));
      const reading = (): number | undefined =>
        checkers().find((pid) => (cpuMsOf(pid) ?? 0) > (before.get(pid) ?? Number.POSITIVE_INFINITY) + 50);
      const checked = driver.check(program(doubling));
      await expect.poll(reading, { timeout: 30_000 }).toBeDefined(); // it reads
      process.kill(reading() ?? 0, "SIGKILL");
      expect(await checked).toEqual({ unsupported: "its checker took too long over the script" });
    },
    60_000,
  );

  it("that does not survive a script is no refusal of it: the next engine's turn, and the next script's", async () => {
    expect(await driver.check(program(deadly))).toEqual({ unsupported: "its checker did not survive the script" });
    expect(await driver.check(program("tools.fs.read(path='a')"))).toBeUndefined();
  }, 60_000);

  it.skipIf(noCpython !== undefined)(
    "that does not survive a script leaves it to CPython, which ends it well",
    async () => {
      const runtime = await createRuntime({ tools: [], chains: { engines: ["monty", "cpython"] } });
      try {
        const outcome = await runtime.runChain({ code: deadly, language: "python" });
        expect(outcome).toMatchObject({ status: "ok", structured: { engine: "cpython", output_text: "2" } });
      } finally {
        await runtime.close();
      }
    },
    60_000,
  );

  it.each([
    ["deep", `x = ${"[".repeat(30_000)}${"]".repeat(30_000)}`],
    ["many errors", "tools.nope()\n".repeat(1_000)],
    ["a chain of attributes", `x = tools${".a".repeat(30_000)}`],
  ])(
    "holds the host up for no hostile source: %s",
    async (_name, source) => {
      await expectWork(1_500, async (at) => {
        const verdict = await driver.check(program(`${source}${"\n#".repeat(at)}`)); // what was read once is remembered
        expect(verdict).toBeDefined();
      });
      expect(await driver.check(program("tools.fs.read(path='a')"))).toBeUndefined();
    },
    60_000,
  );

  it.skipIf(process.platform !== "linux")(
    "that read for one owner reads for no other",
    async () => {
      await driver.check(program("tools.fs.read(path='a')"));
      await expect.poll(checkers).toHaveLength(2); // it rests, and one is warm
      const [pid = 0] = checkers();
      process.kill(pid, "SIGSTOP"); // who is given this one waits for ever
      try {
        expect(await driver.check(program("tools.fs.read(path='a')\n1", "another"))).toBeUndefined();
      } finally {
        process.kill(pid, "SIGCONT");
      }
    },
    60_000,
  );

  it("reads names as Python does, in whichever letters", async () => {
    const verdict = await driver.check(program("tools.fs.ｒead(path='a')"));
    expect(verdict ?? {}).not.toHaveProperty("invalid");
  }, 60_000);
});

describe.skipIf(missing !== undefined)("what stands before a script", () => {
  const typed = (text: string): void => {
    new Monty("pass").typeCheck(text);
  };

  it("gives the checker no finding when it is rehearsed", () => {
    expect(() => typed(rehearsedText())).not.toThrow();
  });

  it("gives it none whatever tools are called and take", async () => {
    const name = fc.constantFrom(
      "a",
      "b-c",
      "class",
      "self",
      "print",
      "str",
      "list",
      "Any",
      "ToolResult",
      "progress",
      "PermissionError",
      "n",
      "ÄÖ",
      "x.y",
    );
    const schema = fc.record({
      type: fc.constantFrom("string", "integer", "number", "boolean", "array", "object", "x"),
    });
    const sketch = fc.record({
      name,
      server: fc.option(name, { nil: undefined }),
      short: name,
      description: fc.constant(""),
      inputSchema: fc.record({
        properties: fc.dictionary(name, schema),
        required: fc.array(name),
        additionalProperties: fc.boolean(),
      }),
    });
    const every = [
      "a b_c self print str list Any ToolResult n __ x_y progress artifacts PermissionError ToolDenied",
      "text structured ref files status await asyncio materialize [",
    ].join(" ");
    await fc.assert(
      fc.property(fc.array(sketch, { maxLength: 6 }), (tools) => {
        expect(() => typed(pythonStubs(tools, every))).not.toThrow();
      }),
      { numRuns: 150 },
    );
  });

  it("names nothing that the script does not", () => {
    const other: ToolSketch = { ...read, name: "git_log", server: "git", short: "log" };
    const stubs = pythonStubs([read, other], "tools.fs.read(path='a')");
    expect(stubs).toContain("class Tools_fs:\n    def read(");
    expect(stubs).not.toMatch(/git|log|fs_read|Error|progress|artifacts|_int|_dict|text|await|materialize|__getitem__/);
  });

  it.each([
    "r = tools.fs.read(path='a')\nr.text.upper() + r.status",
    "[tools.fs.read(path=p).structured for p in tools.fs.read(path='a').files]",
    "tools.fs.read(path=tools.fs.read(path='a')).ref",
    "tools.fs.read(path='a').materialize()",
    "r = await tools.fs.read(path='a')",
    "import asyncio\nr = await asyncio.gather(*(tools.fs.read(path=p) for p in 'ab'))",
    "tools['fs_read'](path='a')",
    "many = tools\nmany['fs_read'](path='a')",
    "import asyncio\ncoming = asyncio.gather(tools.fs.read(path='a'))",
    "tools.__getitem__('fs_read')(path='a')",
  ])("finds nothing wrong in `%s`", (source) => {
    expect(() => typed(`${pythonStubs([read], source)}${source}\n`)).not.toThrow();
  });

  it.each([
    ["tools.fs.read(path='a').txt", "`ToolResult` has no attribute `txt`"],
    ["tools['fs_read', 1](path='a')", "Method `__getitem__`"],
    ["len(tools.fs.read(path='a'))", "Expected `Sized`, found `ToolResult`"],
  ])("finds what is wrong in `%s`", (source, found) => {
    expect(() => typed(`${pythonStubs([read], source)}${source}\n`)).toThrow(found);
  });

  it.each(["PermissionError", "ToolError", "ToolDenied", "progress", "artifacts"])(
    "says what `%s` is to a script that names it",
    (name) => {
      const text = `${pythonStubs([read], name)}x = ${name}\n`;
      expect(() => typed(text)).not.toThrow();
      expect(() => typed(text.replace(`x = ${name}`, `${name}.nothing`))).toThrow();
      expect(text).toMatch(new RegExp(`^(?:class |def )?${name}\\b`, "m"));
    },
  );

  it("says of each argument's type what it is", () => {
    const types = ["string", "integer", "number", "boolean", "array", "object"];
    const properties = Object.fromEntries(types.map((type) => [type, { type }]));
    const tool = { ...read, inputSchema: { type: "object", properties } };
    for (const type of types) {
      const wrong = type === "string" || type === "array" || type === "object" ? "1" : "'a'";
      expect(() => typed(`${pythonStubs([tool], "fs read")}tools.fs.read(${type}=${wrong})\n`)).toThrow();
      const one = { ...read, inputSchema: { type: "object", properties: { [type]: { type } } } };
      expect(() => typed(`${pythonStubs([one], "fs read")}tools.fs.read(${type}=${wrong})\n`)).toThrow();
    }
  });
});
