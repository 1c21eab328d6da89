import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import type { Program, ToolSketch } from "../../../sandbox.ts";
import { scanForMonty } from "../checking/monty-scan.ts";
import { pythonStubs } from "../checking/stubs.ts";
import { toolNames } from "../tool-names.ts";
import { MontyDriver } from "./monty.ts";
import { calledAs, rewriteForMonty } from "./monty-rewrite.ts";
import { tokensOf } from "./tokens.ts";

const limits = { cpuMs: 3_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 20_000, wallMs: 20_000 };
const driver = new MontyDriver({ warm: 1 });
const missing = await driver.unavailable();

afterAll(() => driver[Symbol.asyncDispose]());

const inputSchema = {
  type: "object",
  properties: { path: { type: "string" }, lines: { type: "integer" } },
  required: ["path"],
  additionalProperties: false,
};
const read: ToolSketch = { name: "fs_read", server: "fs", short: "read", description: "Reads.", inputSchema };
const odd: ToolSketch = {
  name: "git-hub.class",
  server: undefined,
  short: "git-hub.class",
  description: "Odd.",
  inputSchema: {},
};

function program(source: string): Program {
  return { language: "python", source, tools: [read, odd], chainId: "chain_1" };
}

describe.skipIf(missing !== undefined)("a script before it runs", () => {
  it.each([
    ["tools.fs.nope(path='a')", "no attribute `nope`. Available: tools.fs.read"],
    ["tools.fs.read(path=3)", "Expected `str"],
    ["tools.fs.read(pth='a', path='b')", "`pth` does not match"],
    ["tools.fs.read()", "required parameter `path`"],
    ["class A:\n    pass\ntools.fs.read()", "required parameter `path`"],
  ])(
    "is refused when no tool can take the call: %s",
    async (source, said) => {
      expect(await driver.check(program(source))).toEqual({ invalid: expect.stringContaining(said) });
    },
    60_000,
  );

  it.each([
    "class A:\n    pass",
    "import random\nrandom.random()",
    "def g():\n    yield 1\nlist(g())",
    "f'{1000:,}'",
    "'%s' % 1",
    "try:\n    tools.fs.nope()\nexcept AttributeError as error:\n    print(error)",
    "r = tools.fs.read(path='a')\nr['key']",
    "x = (",
    "tools.fs.read({'path': 'a'})",
  ])(
    "moves on to the next engine: %s",
    async (source) => {
      expect(await driver.check(program(source))).toEqual({ unsupported: expect.any(String) });
    },
    60_000,
  );

  it("goes when all of it is known", async () => {
    const source = "rows = [tools.fs.read(path=p, lines=2) for p in ['a', 'b']]\nprint(len(rows))\nsum([1, 2])";
    expect(await driver.check(program(source))).toBeUndefined();
  }, 60_000);
});

describe.skipIf(missing !== undefined)("a frozen script", () => {
  const source =
    "import asyncio\nkept = [1, 2]\nprint('before')\nboth = await asyncio.gather(tools.fs.read(path='a'), tools.fs.read(path='b'))\nprint('after')\n[kept, [r.text for r in both]]";

  it("goes on in another process, in the middle of a batch", async () => {
    const first = await driver.start(program(source), limits);
    const step = await first.next();
    expect(step).toMatchObject({
      step: "calls",
      calls: [
        { place: 0, line: 4 },
        { place: 1, line: 4 },
      ],
    });
    const image = await first.freeze();
    await first[Symbol.asyncDispose]();
    expect(image.byteLength).toBeLessThan(150_000);
    await using second = await driver.restore(image, limits);
    await second.settle([0, 1].map((place) => ({ place, status: "ok" as const, value: { text: `t${place}` } })));
    expect(await second.next()).toMatchObject({
      step: "done",
      value: [
        [1, 2],
        ["t0", "t1"],
      ],
      printed: [{ text: "after\n" }],
    });
  }, 60_000);

  it("is refused when a byte of it was changed, and the host goes on", async () => {
    const session = await driver.start(program(source), limits);
    await session.next();
    const image = await session.freeze();
    await session[Symbol.asyncDispose]();
    const ends = [];
    for (const at of [1, Math.floor(image.length / 3), Math.floor(image.length / 2)]) {
      const changed = Uint8Array.from(image);
      changed[at] = (changed[at] ?? 0) ^ 0x55;
      try {
        await using thawed = await driver.restore(changed, limits);
        await thawed.settle([0, 1].map((place) => ({ place, status: "ok" as const, value: { text: "t" } })));
        ends.push((await thawed.next()).step);
      } catch (error) {
        ends.push(error instanceof Error && "code" in error ? error.code : error);
      }
    }
    expect(
      ends.every((end) => ["image_broken", "place_unknown", "failed", "done", "calls"].includes(String(end))),
    ).toBe(true);
  }, 60_000);
});

describe.skipIf(missing !== undefined)("a tool's name in a script", () => {
  it.each([
    ["tools.fs.read('a', 3)", { path: "a", lines: 3 }],
    ["tools.fs.read(lines=3, path='a')", { path: "a", lines: 3 }],
    ["tools.fs_read({'path': 'a'})", { path: "a" }],
    ["fs_read('a')", { path: "a" }],
    ["t = tools\nt.fs.read('a')", { path: "a" }],
    ["t = tools.fs\nt.read('a')", { path: "a" }],
    ["def f(tools):\n    return tools.fs.read('a')\nf(tools)", { path: "a" }],
    ["tools \\\n  .fs.read('a')", { path: "a" }],
  ])("calls the tool it leads to, whichever way: %s", async (source, given) => {
    await using session = await driver.start(program(source), limits);
    expect(await session.next()).toMatchObject({ step: "calls", calls: [{ tool: "fs_read", arguments: given }] });
  });

  it("hands no tool the tools", async () => {
    for (const source of ["tools.fs.read(tools.fs)", "tools.fs.read(path=tools)"]) {
      await using session = await driver.start(program(source), limits);
      const message = expect.stringContaining("a tool cannot be handed such a value");
      expect(await session.next()).toMatchObject({ step: "failed", message });
    }
  });

  it.each([false, true])(
    "is no question to the host, whose answer is printed: thawed each time, %s",
    async (isThawed) => {
      const source = "help('fs.read')\nr = tools.fs.read('a')\np = progress('half', 0.5)\n[r.text, p]";
      let session = await driver.start(program(source), limits);
      const seen: unknown[] = [];
      for (let place = 0; place < 3; place++) {
        const step = await session.next();
        if (step.step === "calls") seen.push(...step.calls.map(({ tool, line }) => `${tool}:${line}`));
        seen.push(...(step.printed ?? []).map(({ text }) => text));
        if (isThawed) {
          const image = await session.freeze();
          await session[Symbol.asyncDispose]();
          session = await driver.restore(image, limits);
        }
        await session.settle([{ place, status: "ok", value: { text: `t${place}` } }]);
      }
      expect(seen).toEqual(["help:1", "fs_read:2", "t0\n", "progress:3"]);
      expect(await session.next()).toMatchObject({ step: "done", value: ["t1", null] });
      await session[Symbol.asyncDispose]();
    },
  );
});

it("has no key of a script reach a prototype of the host", async () => {
  if (missing !== undefined) return;
  await using session = await driver.start(
    program("tools.fs.read(**{'__proto__': {'x': 1}, 'constructor': 'c', 'path': 'p'})"),
    limits,
  );
  const step = await session.next();
  expect(step.step === "calls" && Object.keys(step.calls[0]?.arguments ?? {}).sort()).toEqual(
    ["__proto__", "constructor", "path"].sort(),
  );
  expect(({} as { readonly x?: unknown }).x).toBeUndefined();
}, 60_000);

describe("what is rewritten", () => {
  it("keeps every line where it was, and says the line of each call", () => {
    const source =
      "a = 1\nb = await tools.fs.read(path='x')\ntry:\n    fs_read('y')\nexcept Exception as error:\n    pass\n";
    const rewritten = rewriteForMonty(source, { alone: new Set(["fs_read", "read"]) });
    const text = "source" in rewritten ? rewritten.source : "";
    expect(text.split("\n").length).toBe(source.split("\n").length);
    expect(text).toContain("      tools.fs.read__at_2(path='x')");
    expect(text).toContain("fs_read__at_4('y')");
    expect(text).toContain(
      "except (ValueError, KeyError, IndexError, ZeroDivisionError, AssertionError, OSError) as error:",
    );
    expect(calledAs("read__later_12")).toEqual({ name: "read", line: 12, isLater: true });
  });

  it("writes a tool's number where its path was, so that no call hands a list of tools out of Monty", () => {
    const source =
      "tools.fs.read('a')\ntools.fs_read('b')\nawait asyncio.gather(tools.git_hub_class(), tools.fs.read('c'))";
    expect(rewriteForMonty(source, toolNames([read, odd]))).toEqual({
      source: "__tool_0__at_1('a')\n__tool_0__at_2('b')\n      __gather__(__tool_1__later_3(), __tool_0__later_3('c'))",
    });
  });

  it.each([
    "tools = 1\ntools.fs.read()",
    "def f(tools):\n    tools.fs.read()",
    "for tools in x:\n    tools.fs.read()",
    "t = tools\ntools.fs.read()",
    "tools.fs.nope()",
    "tools.nope()",
    "tools.git.read()",
    "x.tools.fs.read()",
    "tools.fs.read.more()",
    "tools.constructor()",
    "tools \\\n .fs.read()",
  ])("leaves a path that may lead elsewhere, or over a line's end: %s", (source) => {
    const { source: text } = rewriteForMonty(source, toolNames([read, odd])) as { readonly source: string };
    expect(text).not.toContain("__tool_");
    expect(text.split("\n").length).toBe(source.split("\n").length);
  });

  it("reads the longest script in a moment, however much of it is gathered or imported", async () => {
    const bare = new Set(["a"]);
    const gathered = `await gather(${"a(),".repeat(15_900)})`;
    const starred = `await asyncio.gather(${"*[tools.a(i) for i in x],".repeat(2_500)})`;
    const imported = `from json import ${"import ".repeat(9_100)}`;
    expect(rewriteForMonty(gathered, { alone: bare })).toMatchObject({
      source: expect.stringContaining("__gather__(a__later_1()"),
    });
    await expectWork(600, () => {
      rewriteForMonty(gathered, { alone: bare });
      rewriteForMonty(starred, { alone: bare });
      scanForMonty(imported);
    });
  });

  it.each([
    "await asyncio.gather(tools.a(tools.b()))",
    "await asyncio.gather(*[tools.a(x) for x in tools.b()])",
    "await asyncio.gather(tools.a(",
    "await asyncio.gather(*[tools.a(x) for x in y)",
    "await asyncio.gather(tools.a(), x)",
  ])("leaves to an engine with a loop what gathers more than calls: %s", (source) => {
    expect(rewriteForMonty(source, { alone: new Set() })).toMatchObject({
      unsupported: expect.stringContaining("line 1"),
    });
  });

  it("leaves names alone that the script gave another meaning", () => {
    const rewritten = rewriteForMonty("def read(path):\n    return path\nread('x')", { alone: new Set(["read"]) });
    expect(rewritten).toEqual({ source: "def read(path):\n    return path\nread('x')" });
  });

  it("takes every text apart without losing any of it", async () => {
    await fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (source) => {
        let at = 0;
        for (const token of tokensOf(source)) {
          expect(token.start).toBeGreaterThanOrEqual(at);
          expect(source.slice(token.start, token.start + token.text.length)).toBe(token.text);
          at = token.start + token.text.length;
        }
        scanForMonty(source);
        rewriteForMonty(source, { alone: new Set(["read"]) });
      }),
      { numRuns: 300 },
    );
  });
});

it("makes stubs of schemas, whatever tools and arguments are called", () => {
  const stubs = pythonStubs([read, odd], "tools.fs.read(path=3)\ngit_hub_class()");
  expect(stubs).toContain("class Tools_fs:\n    def read(_own, /, path: _str, lines: _int = _unset) -> _Result");
  expect(stubs).toContain("def git_hub_class(_own, /, **_more: _Any)");
});
