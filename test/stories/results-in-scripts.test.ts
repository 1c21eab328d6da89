/** The type of a tool's answer in a script does not depend on its size. */
import { expect, it } from "vitest";
import { createRuntime, defineTool, type Json } from "../../packages/postern/src/index.ts";

const plain = { description: "A tool.", risk: "safe", effects: "read", idempotent: true } as const;
const input = { type: "object", properties: { rows: { type: "integer" } }, required: ["rows"] } as const;
const rowsOf = (given: unknown) =>
  Array.from({ length: Number(Reflect.get(Object(given), "rows")) }, (_, id) => ({ id, name: `somebody ${id}` }));

const tools = [
  defineTool({ ...plain, name: "list", input, execute: (given) => ({ structured: rowsOf(given) }) }),
  defineTool({ ...plain, name: "object", input, execute: (given) => ({ structured: { rows: rowsOf(given) } }) }),
  defineTool({
    ...plain,
    name: "both",
    input,
    execute: (given) => ({ content: [{ type: "text", text: "The rows." }], structured: rowsOf(given) }),
  }),
  defineTool({ ...plain, name: "json_text", input, execute: (given) => JSON.stringify(rowsOf(given)) }),
  defineTool({
    ...plain,
    name: "restated",
    input,
    execute: (given) => {
      const text = JSON.stringify(rowsOf(given), undefined, 2);
      return { content: [{ type: "text", text }], structured: { content: text } };
    },
  }),
];

/** Returns the script's value of the answer for each size. */
async function valuesInScript(expression: string, tool: string): Promise<readonly Json[]> {
  await using runtime = await createRuntime({ tools, chains: { engines: ["quickjs"] } });
  const seen: Json[] = [];
  for (const rows of [3, 70, 3_000]) {
    const code = `const r = await tools.${tool}({ rows: ${rows} }); const n = ${rows}; return ${expression};`;
    const { structured, text } = await runtime.runChain({ code, language: "javascript" });
    const { status, output_text } = structured as { readonly status: string; readonly output_text: string }; // a ChainRunResult
    if (status !== "ok") throw new Error(text);
    expect(text).not.toContain("Too big to be whole");
    seen.push(JSON.parse(output_text));
  }
  return seen;
}

it.each([
  ["list", "[Array.isArray(r.structured), r.structured.length === n, JSON.parse(r.text).length === n]"],
  [
    "object",
    "[Array.isArray(r.structured.rows), r.structured.rows.length === n, JSON.parse(r.text).rows.length === n]",
  ],
  ["both", '[Array.isArray(r.structured), r.structured.length === n, r.text === "The rows."]'],
  ["json_text", "[r.structured === undefined, JSON.parse(r.text).length === n, true]"],
  [
    "restated",
    "[r.structured.content === r.text, JSON.parse(r.text).length === n, Object.keys(r.structured).length === 1]",
  ],
])("the answer of `%s` has the same type with 3, 70 and 3,000 rows", async (tool, expression) => {
  expect(await valuesInScript(expression, tool)).toEqual(Array(3).fill([true, true, true]));
});
