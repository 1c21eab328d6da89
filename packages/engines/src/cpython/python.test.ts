import { afterAll, describe, expect, it } from "vitest";
import { runPython as run } from "../../../../test/fakes/python-scripts.ts";
import { CpythonDriver } from "./cpython.ts";

const drivers = { cpython: new CpythonDriver() };
const missing = new Map(
  await Promise.all(Object.values(drivers).map(async (driver) => [driver.name, await driver.unavailable()] as const)),
);

afterAll(async () => {
  await Promise.all(Object.values(drivers).map((driver) => driver[Symbol.asyncDispose]()));
});

const same: readonly (readonly [sentence: string, source: string, value: unknown])[] = [
  [
    "calls a tool by its server and reads its result",
    "r = tools.fs.read(path='a')\n[r.text, r.structured['place'], r.status]",
    ["text of a", 0, "ok"],
  ],
  [
    "calls a tool by its plain name, and by its name alone",
    "[tools.echo(path='a').text, echo(path='b').text]",
    ["text of a", "text of b"],
  ],
  [
    "awaits a call or does not",
    "a = await tools.echo(path='a')\nb = tools.echo(path='b')\n[a.text, b.text]",
    ["text of a", "text of b"],
  ],
  ["takes arguments without names", "tools.fs.read('p').text", "text of p"],
  [
    "hands a result without a reference on as its text",
    "r = tools.echo(path='a')\ntools.echo(path=r).structured['given']",
    { path: "text of a" },
  ],
  [
    "catches a refusal as a permission error",
    "try:\n    tools.refuse(path='x')\n    r = 'went on'\nexcept PermissionError as error:\n    r = str(error)\nr",
    "A person refused. Ask them.",
  ],
  [
    "catches a failed call",
    "try:\n    tools.broken(path='x')\nexcept Exception as error:\n    r = f'caught: {error}'\nr",
    "caught: It broke.",
  ],
  [
    "formats and sorts as Python does",
    "rows = [('b', 2.5), ('a', 1.0)]\n[f'{name}:{value:.2f}' for name, value in sorted(rows)]",
    ["a:1.00", "b:2.50"],
  ],
];

describe.each(Object.values(drivers))("$name", (driver) => {
  it.skipIf(missing.get(driver.name) !== undefined).each(same)(
    "%s",
    async (_sentence, source, value) => {
      const { last } = await run(driver, source);
      expect(last).toMatchObject({ step: "done", value });
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "asks for gathered calls together, each with its line (parallel within a batch)",
    async () => {
      const source =
        "import asyncio\nresults = await asyncio.gather(*[tools.echo(path=str(i)) for i in range(3)])\n[r.text for r in results]";
      const { last, batches } = await run(driver, source);
      expect(batches.map((batch) => batch.map(({ place, line }) => [place, line]))).toEqual([
        [
          [0, 2],
          [1, 2],
          [2, 2],
        ],
      ]);
      expect(last).toMatchObject({ step: "done", value: ["text of 0", "text of 1", "text of 2"] });
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "captures what is printed, and gives the value of the last expression (case 220)",
    async () => {
      const { last, printed } = await run(driver, "print('one', 2, sep='-')\n40 + 2");
      expect([last, printed]).toEqual([expect.objectContaining({ step: "done", value: 42 }), "one-2\n"]);
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "asks the host for help, in words too",
    async () => {
      const { last, batches, printed } = await run(driver, "help('send a mail')\nprint('end')");
      expect(batches).toMatchObject([[{ kind: "help", arguments: { tool: "send a mail" }, line: 1 }]]);
      expect([printed, last]).toMatchObject(["text of send a mail\nend\n", { step: "done" }]);
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "forgets what an earlier script set (case 228)",
    async () => {
      await run(driver, "leftover = 1\nleftover");
      const { last } = await run(driver, "try:\n    r = leftover\nexcept NameError:\n    r = 'gone'\nr");
      expect(last.step === "done" ? last.value : last).toSatisfy(
        (end: unknown) => end === "gone" || JSON.stringify(end).includes("leftover"),
      );
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "is stopped when it loops for ever (case 230)",
    async () => {
      const { last } = await run(driver, "while True:\n    pass", { cpuMs: 300, wallMs: 4_000 });
      expect(last).toMatchObject({ step: "failed", why: expect.stringMatching(/^(cpu|wall)$/) });
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "ends honestly on floods of memory, output, recursion and huge numbers",
    async () => {
      const ends = [];
      for (const source of [
        "x = ['a' * 10**6] * 1\nwhile True:\n    x = x + x + ['b' * 10**6]",
        "while True:\n    print('x' * 1000)",
        "def f(n):\n    return f(n + 1)\nf(0)",
        "x = 10 ** (10 ** 9)\nlen(str(x))",
      ]) {
        const { last } = await run(driver, source, { cpuMs: 1_500, wallMs: 10_000 });
        ends.push(last.step === "failed" ? last.why : last);
      }
      expect(ends[0]).toMatch(/memory|cpu|wall/);
      expect(ends[1]).toBe("output");
      expect(ends[2]).toMatch(/script|memory|crash/);
      expect(ends[3]).toMatch(/cpu|wall|memory|script/);
    },
    120_000,
  );
});
