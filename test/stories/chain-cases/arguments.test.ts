/** What a script passes to a tool and what it throws, on each engine. */
import { expect } from "vitest";
import { defineTool, type Json } from "../../../packages/postern/src/index.ts";
import { onEachEngine } from "../../fakes/engine-cases.ts";
import { resultOf } from "../../fakes/engine-fixture.ts";

const noJson = {
  javascript: [
    ...["tools.note({ text: 'asked' })", "0 / 0", "-1 / 0", "() => 1", "Symbol('s')", "tools", "tools.any", "10n"],
    ...[
      "/x/",
      "new Error('e')",
      "(function* () { yield 1; })()",
      "[1].values()",
      "new WeakMap()",
      "new ArrayBuffer(2)",
    ],
    ...[
      "new Float32Array(2)",
      "{ deep: [{ deeper: Promise.resolve(1) }] }",
      "(() => { const a = []; a.push(a); return a; })()",
    ],
  ],
  python: [
    ...[
      "float('nan')",
      "-float('inf')",
      "lambda: 1",
      "[{'deep': lambda: 1}]",
      "b'x'",
      "2**60",
      "print",
      "ValueError('e')",
    ],
    ...["ValueError", "...", "{(1, 2): 3}", "json", "again", "later()", "{1: again}", "iter([1])", "A()"],
  ],
};
/** The code that a value needs before it. */
const before: ReadonlyMap<string, string> = new Map([
  ["json", "import json\n"],
  ["again", "again = []\nagain.append(again)\n"],
  ["{1: again}", "again = {}\nagain[1] = again\n"],
  ["later()", "async def later():\n    return 1\n"],
  ["A()", "class A:\n    pass\n"],
]);

await onEachEngine(({ language, name, room: open, check }) => {
  const isPython = language === "python";
  const handed: Json[] = [];
  const any = defineTool({
    ...{ name: "any", description: "Takes anything.", risk: "safe", effects: "write", idempotent: false },
    input: { type: "object", additionalProperties: true },
    execute: (given) => {
      handed.push(given as Json); // what came in as JSON
      return "done";
    },
  });
  const note = defineTool({ ...any, name: "note", execute: () => "noted" });
  const run = async (python: string, javascript: string) => {
    await using at = await open({ tools: [any, note] });
    handed.length = 0;
    return await at.runtime.runChain({ code: isPython ? python : javascript, language });
  };

  check("a value without a form in JSON is refused in the script, and the tool is not called", async () => {
    const tried = isPython
      ? noJson.python.map((value) => `${before.get(value) ?? ""}tools.any(a=${value})`)
      : noJson.javascript.map((value) => `await tools.any({ a: ${value} });`);
    for (const code of name === "pyodide" ? tried.slice(0, 3) : tried) {
      // Pyodide starts slowly, and its prelude is CPython's.
      const ended = await run(code, code);
      expect(resultOf(ended), code).toMatchObject({
        ...{ status: "error", error_kind: "script" },
        error: expect.stringMatching(/: (TypeError|ValueError): /),
      });
      expect(handed, code).toEqual([]);
    }
  });

  check("a value that is a kind of list is passed on as that list", async () => {
    await run(
      "d = {'a': 1}\ntools.any(a=range(3), b=d.keys(), c=d.values(), d={2, 1}, e=(1, 'x'), f={1: None})",
      "await tools.any({ a: [0, 1, 2], b: new Set(['a']), c: new Set([1]), d: [1, 2], e: [1, 'x'], f: new Map([['1', null]]) });",
    );
    expect(handed).toEqual([{ a: [0, 1, 2], b: ["a"], c: [1], d: [1, 2], e: [1, "x"], f: { "1": null } }]);
  });

  check("text that looks like such a value stays text", async () => {
    const texts = ["[...]", "range(0, 3)", "<iterator>", "NaN"];
    await run(`tools.any(a=${JSON.stringify(texts)})`, `await tools.any({ a: ${JSON.stringify(texts)} });`);
    expect(handed).toEqual([{ a: texts }]);
  });

  check("a script that ends with an awaitable has run it", async () => {
    const ended = await run(
      "async def main():\n    return tools.any(a=1).text\nmain()",
      "async function main() { return (await tools.any({ a: 1 })).text; }\nmain()",
    );
    expect([resultOf(ended).output_text, handed]).toEqual(["done", [{ a: 1 }]]);
  });

  check("an error that cannot be printed is still the script's error", async () => {
    const codes = isPython
      ? [
          "class E(Exception):\n    def __str__(self):\n        raise E()\nraise E()",
          "e = ToolError('m')\ne.code = type('X', (), {'__str__': lambda self: 1 / 0})()\nraise e",
          "class E(ToolError):\n    @property\n    def code(self):\n        raise SystemExit(0)\n    @code.setter\n    def code(self, value):\n        pass\nraise E('m')",
        ]
      : [
          "throw { toString() { throw 1; } };",
          "throw Object.defineProperty(new Error('x'), 'message', { get() { throw 1; } });",
          "throw new Proxy(new Error('x'), { get() { throw 1; }, getPrototypeOf() { throw 2; } });",
        ];
    for (const code of codes) {
      const ended = resultOf(await run(`tools.any(a=1)\n${code}`, `await tools.any({ a: 1 });\n${code}`));
      expect(ended, code).toMatchObject({
        status: "error",
        error_kind: "script",
        call_trace: [{ tool: "any", status: "ok" }],
      });
    }
  });
});
