/** Values keep their meaning at any size on their way into and out of a script, in JavaScript and in Python. */
import { afterAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import { createRuntime, defineTool, type Json, type Runtime } from "../../packages/postern/src/index.ts";
import { resultOf } from "../fakes/script-fixture.ts";

const engines = await Promise.all(
  (["quickjs", "cpython"] as const).map(async (name) => {
    await using driver = await knownEngines.get(name)?.(new SystemClock());
    const missing = driver === undefined ? "there is no such engine" : await driver.unavailable();
    if (missing !== undefined) console.warn(`SKIPPED: ${name}: ${missing}`);
    return { name, missing, isPython: name === "cpython" };
  }),
);

const safe = { description: "For a script.", risk: "safe", effects: "read", idempotent: true } as const;
const rows = (count: number): { id: number; name: string }[] =>
  Array.from({ length: count }, (_, id) => ({ id, name: `row ${id}` }));

async function open(
  name: string,
  missing: string | undefined,
): Promise<{ readonly runtime: Runtime; readonly handed: Json[] }> {
  const handed: Json[] = [];
  const count = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] } as const;
  const counted = (given: unknown): number => (given as { readonly count: number }).count; // the schema says so
  const runtime = await createRuntime({
    tools: [
      defineTool({ ...safe, name: "rows", input: count, execute: (given) => rows(counted(given)) }),
      defineTool({
        ...safe,
        ...{ name: "said", input: count },
        execute: (given) => ({ content: [{ type: "text", text: JSON.stringify(rows(counted(given))) }] }),
      }),
      defineTool({
        ...safe,
        ...{ name: "take", input: { type: "object", additionalProperties: true } },
        execute: (given) => {
          handed.push(given as Json); // arguments are JSON
          return "taken";
        },
      }),
    ],
    ...(missing === undefined && { chains: { engines: [name] } }),
  });
  return { runtime, handed };
}

describe.each(engines)("in $name", ({ name, missing, isPython }) => {
  const language = isPython ? "python" : "javascript";
  const opening = open(name, missing);
  afterAll(async () => (await opening).runtime.close());

  it.skipIf(missing !== undefined).each([3, 90, 400, 20_000])(
    "a list of %i rows arrives as that list",
    async (count) => {
      const { runtime, handed } = await opening;
      handed.length = 0;
      const code = isPython
        ? `r = tools.rows(count=${count})\ntools.take(rows=r)\n[len(r), sum(row["id"] for row in r), r[-1]["name"], type(r.structured).__name__]`
        : `const r = await tools.rows({ count: ${count} }); await tools.take({ rows: r }); const all = r.structured;
return [all.length, all.reduce((sum, row) => sum + row.id, 0), all.at(-1).name, Array.isArray(all) ? "list" : "other"];`;
      const { status, output_text: output } = resultOf(await runtime.runChain({ code, language }));
      expect(status).toBe("ok");
      expect(JSON.parse(String(output))).toEqual([count, (count * (count - 1)) / 2, `row ${count - 1}`, "list"]);
      expect(handed).toHaveLength(1);
    },
  );

  it.skipIf(missing !== undefined)("data that a script cannot hold is an error and no other data", async () => {
    const { runtime } = await opening;
    const code = isPython
      ? "r = tools.rows(count=60_000)\ntry:\n    said = len(r)\nexcept ToolError as error:\n    said = [error.code, str(error)]\nsaid"
      : "const r = await tools.rows({ count: 60_000 }); try { return r.structured.length; } catch (error) { return [error.code, error.message]; }";
    const { output_text: output } = resultOf(await runtime.runChain({ code, language }));
    expect(JSON.parse(String(output))).toEqual(["result_unavailable", expect.stringMatching(/1048576 at most/)]);
  });

  it.skipIf(missing !== undefined || !isPython).each([3, 400])(
    "text that is a list of %i rows is read completely",
    async (n) => {
      const { runtime } = await opening;
      const code = `r = tools.said(count=${n})\n[len(r), [row["id"] for row in r][-1]]`;
      const { output_text: output } = resultOf(await runtime.runChain({ code, language }));
      expect(JSON.parse(String(output))).toEqual([n, n - 1]);
    },
  );

  it.skipIf(missing !== undefined).each([
    ["1915883588174806058", "1915883588174806058"],
    ["-9007199254740993", "-9007199254740993"],
    ["9007199254740992", "9007199254740992"],
    ["9007199254740993.5", "9007199254740993.5"],
    ["{ deep: [1915883588174806058] }", '{"deep": [1915883588174806058]}'],
  ])("the number %s is refused as an argument, because it would change", async (javascript, python) => {
    const { runtime, handed } = await opening;
    handed.length = 0;
    const code = isPython ? `tools.take(id=${python})` : `await tools.take({ id: ${javascript} });`;
    const { error_kind: kind, error } = resultOf(await runtime.runChain({ code, language }));
    expect([kind, error]).toEqual(["script", expect.stringMatching(/2(\^|\*\*)53.*as text/)]);
    expect(handed).toEqual([]);
  });

  it.skipIf(missing !== undefined)("exact numbers and large fractions are passed on unchanged", async () => {
    const { runtime, handed } = await opening;
    handed.length = 0;
    const numbers = "9007199254740991, -9007199254740991, 0.1, 1e21, -1e300";
    const code = isPython ? `tools.take(n=[${numbers}])` : `await tools.take({ n: [${numbers}] });`;
    expect(resultOf(await runtime.runChain({ code, language }))).toMatchObject({ status: "ok" });
    expect(handed).toEqual([{ n: [9007199254740991, -9007199254740991, 0.1, 1e21, -1e300] }]);
  });
});

const python = engines.find(({ isPython }) => isPython);

it.skipIf(python?.missing !== undefined)(
  "help shows keywords as Python writes them, and the calls reach the tool",
  async () => {
    const handed: Json[] = [];
    const member = {
      type: "object",
      properties: { from: { type: "string" }, "max-age": {} },
      required: ["from"],
    } as const;
    await using runtime = await createRuntime({
      tools: [
        defineTool({
          ...safe,
          ...{ name: "import", input: member },
          execute: (given) => {
            handed.push(given as Json); // arguments are JSON
            return "done";
          },
        }),
      ],
      chains: { engines: ["cpython"] },
    });
    const code =
      'help(tools.import_)\nhelp("import_")\ntools.import_(from_="a", max_age=1)\ntools["import"](from_="b").text';
    const result = resultOf(await runtime.runChain({ code, language: "python" }));
    expect(result).toMatchObject({ status: "ok", output_text: "done" });
    expect(result["logs"]).toMatch(
      /tools\.import_\(from_: str, max_age: object = …\)[\s\S]*tools\.import_\(from_: str/,
    );
    expect(handed).toEqual([{ from: "a", "max-age": 1 }, { from: "b" }]);
  },
);
