/** Forms in which models write scripts: fences, functions that nothing calls, names that a result does not have. */
import { afterAll, describe, expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import { enginesHere, recordedDriver } from "../fakes/engine-fixture.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";
import { enginesInTurn } from "../fakes/share.ts";

/** One for each language: a script is written in either. */
const engines = await enginesHere([...new Set(["quickjs", ...enginesInTurn])]);
afterAll(() => Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]())));

const rows = {
  name: "rows",
  description: "Rows.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  execute: () => ({ content: [], structured: { rows: [1, 2] } }),
} as const;

function scene(options: Parameters<typeof runtimeFixture>[0] = {}): Promise<RuntimeFixture> {
  const here = engines.filter(({ missing }) => missing === undefined);
  const drivers = here.map(({ driver }) =>
    recordedDriver(driver, { seen: { programs: [], limits: [], sessions: [], settled: [] } }),
  );
  return runtimeFixture({ chains: { drivers, engines: drivers.map(({ name }) => name) }, ...options }, [rows]);
}

async function answerOf(code: string, language?: "javascript" | "python"): Promise<unknown> {
  await using h = await scene();
  const result = resultOf(await h.runtime.runChain({ code, ...(language !== undefined && { language }) }));
  return result["status"] === "ok" ? result["output_text"] : result["error"];
}

const hasPython = engines.some(({ language, missing }) => language === "python" && missing === undefined);

describe("Markdown fences around a script", () => {
  it.each([
    ["a named pair", "```js\nconst r = await tools.rows({});\nr.structured.rows.length\n```", "2"],
    ["a pair without a name", "\n```\n1 + 1\n```\n\n", "2"],
    ["a pair after a line of prose", "Here's the code:\n```typescript\nconst n: number = 2; n\n```", "2"],
    ["a pair of another sort, with carriage returns", "~~~js\r\n1 + 1\r\n~~~\r\n", "2"],
  ])("are taken off: %s", async (_what, code, answer) => {
    expect(await answerOf(code)).toBe(answer);
  });

  it.skipIf(!hasPython)("name the language", async () => {
    expect(await answerOf("```python\nlen(tools.rows()['rows'])\n```")).toBe("2");
  });

  it("leave the numbers of lines as they were", async () => {
    expect(await answerOf("Code:\n```js\n1;\nnull.x\n```")).toContain("(line 4)");
  });

  it.each([
    ["within a text", "const text = `\n```js\n1\n```\n`; text"],
    ["in two pairs", "```js\n1\n```\n```js\n2\n```"],
    ["without an end", "```js\n1"],
  ])("stay %s", async (_what, code) => {
    expect(await answerOf(code)).toMatch(/SyntaxError|not a function/);
  });
});

describe("a script that calls none of its functions", () => {
  it.each([
    ["a declared function", "async function run() { return (await tools.rows({})).text; }", "run"],
    ["an arrow", "const run = async () => {\n  await tools.rows({});\n};", "run"],
    ["the last of two", "const part = (x) => x;\nasync function main() { return part(await tools.rows({})); }", "main"],
  ])("says so: %s", async (_what, code, name) => {
    expect(await answerOf(code, "javascript")).toContain(
      `It defines \`${name}\` and never calls it, so nothing ran. End it with \`await ${name}()\`.`,
    );
  });

  it.skipIf(!hasPython)("says so in Python", async () => {
    const code = "async def main():\n    return tools.rows()\n";
    expect(await answerOf(code, "python")).toContain("It defines `main` and never calls it, so nothing ran.");
  });

  it("is not one that printed or called something", async () => {
    expect(await answerOf("function unused() {}\nconsole.log('hello');", "javascript")).toBe("");
    expect(await answerOf("function unused() {}\nawait tools.rows({});\nnull", "javascript")).toBe("");
  });
});

describe("a name that a result does not have", () => {
  it("says what a result has, and where its data is", async () => {
    const text = await answerOf("const r = await tools.rows({}); r.rows.length", "javascript");
    expect(text).toContain(
      "A result has no .rows: it has text, structured, ref, files, notes, status and materialize().",
    );
    expect(text).toContain("read .structured.rows");
  });

  it.skipIf(!hasPython)("says the same in Python", async () => {
    expect(await answerOf("tools.rows().rows", "python")).toContain(
      "it has text, structured, ref, files, notes, status and materialize()",
    );
  });

  it("may be asked for as of any object", async () => {
    const code =
      "const r = await tools.rows({}); [r.error, r.isError, r.toString().length > 0, 'rows' in r, r.own = 1]";
    expect(await answerOf(code, "javascript")).toBe("[null,null,true,false,1]");
  });
});

describe("an approval that does not come in time", () => {
  it.skipIf(!hasPython).each([
    ["javascript", "let advice = ''; try { await tools.mail({ to: 'ann' }); } catch (e) { advice = e.advice; } advice"],
    ["python", "try:\n    tools.mail(to='ann')\nexcept ToolError as error:\n    advice = error.advice\nadvice"],
  ] as const)("tells a script in %s to call the tool directly", async (language, code) => {
    await using h = await scene({ approvals: { patience: "wait" } });
    const held = Promise.withResolvers<void>();
    using _watched = h.runtime.watch(({ moment }) => (moment === "held" ? held.resolve() : undefined));
    const ended = h.runtime.runChain({ code, language });
    await held.promise;
    await settled();
    await h.clock.advance(56_000);
    expect(resultOf(await ended)["output_text"]).toBe(
      "To have it done, call the tool directly, outside the script. Otherwise go on without it.",
    );
  });
});

describe("texts of a place", () => {
  it.each([
    [
      "new Date(0).toLocaleString('en', { timeZone: 'America/New_York' })",
      "the time zone America/New_York is not here",
    ],
    ["new Date(0).toLocaleTimeString('en', { timeZone: 'Asia/Tokyo' })", "the time zone Asia/Tokyo is not here"],
    ["(5).toLocaleString('de', { style: 'currency', currency: 'EUR' })", "the currency EUR is not here"],
    ["(0.5).toLocaleString('de', { style: 'percent' })", "the style percent is not here"],
    ["(5n).toLocaleString('de', { style: 'currency', currency: 'EUR' })", "the currency EUR is not here"],
  ])("%s says what is missing", async (code, problem) => {
    expect(await answerOf(code, "javascript")).toContain(problem);
  });

  it("are there in UTC and for plain numbers", async () => {
    const code = "[new Date(0).toLocaleDateString('en', { timeZone: 'UTC' }), (5).toLocaleString('de')]";
    expect(await answerOf(code, "javascript")).toBe('["01/01/1970","5"]');
  });
});

describe("the notes of a result", () => {
  it.each([
    [
      "javascript",
      'const r = await tools.mail({ to: "ann" }); r.text + "|" + r.notes.join(" ") + "|" + (await tools.rows({})).notes.length',
    ],
    ["python", 'r = tools.mail(to="ann"); r.text + "|" + " ".join(r.notes) + "|" + str(len(tools.rows().notes))'],
  ] as const)("are beside the text in %s", async (language, code) => {
    if (language === "python" && !hasPython) return;
    await using h = await scene();
    const waits = await h.runtime.runChain({ code, language });
    await h.runtime.approvals.decide(waits.approvalId ?? "", {
      ...{ decision: "modified", arguments: { to: "bob" }, reason: "ann left" },
      by: { user: "grace", via: "token:operator" },
    });
    const text = resultOf(await h.runtime.runChain({ code, language }))["output_text"];
    expect(text).toBe(
      'to bob|A person (grace) changed the arguments to {"to":"bob"} before it ran. Reason: ann left.|0',
    );
  });
});
