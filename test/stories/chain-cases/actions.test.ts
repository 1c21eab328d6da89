/** Tools with several actions, and arguments with any name, on each engine. */
import { expect } from "vitest";
import { defineTool, type Json } from "../../../packages/postern/src/index.ts";
import { onEachEngine } from "../../fakes/engine-cases.ts";
import { type EngineFixture, resultOf } from "../../fakes/engine-fixture.ts";

const safe = { risk: "safe", effects: "read", idempotent: true } as const;
const awkward = [
  "self",
  "cls",
  "args",
  "kwargs",
  "tool",
  "timeout",
  "name",
  "given",
  "named",
  "more",
  "_own",
  "options",
];
const text = { type: "string" } as const;
const ordered = { type: "object", properties: { id: text }, required: ["id"] } as const;
const input = { type: "object", properties: Object.fromEntries(awkward.map((name) => [name, text])) } as const;

const orders = defineTool({
  ...{ name: "orders", description: "Orders." },
  actions: {
    read: { ...safe, input: ordered, execute: (given) => `read ${JSON.stringify(given)}` },
    delete: { ...safe, input: ordered, execute: (given) => `deleted ${JSON.stringify(given)}` },
  },
});
const record = defineTool({
  ...{
    ...safe,
    name: "record",
    description: "Says what it was given.",
    input: { ...input, additionalProperties: false },
  },
  execute: (given) => given as Json, // what came in as JSON
});
const tools = [orders, record];

await onEachEngine(({ language, room: open, check }) => {
  const isPython = language === "python";
  const run = async (at: EngineFixture, python: string, javascript: string): Promise<unknown> =>
    resultOf(await at.runtime.runChain({ code: isPython ? python : javascript, language })).output_text;

  check("an action is called as a member of its tool", async () => {
    await using at = await open({ tools });
    const told = await run(
      at,
      'tools.orders.delete(id="1").text + tools.orders.read(id="2").text',
      'const one = await tools.orders.delete({ id: "1" }); one.text + (await tools.orders.read({ id: "2" })).text',
    );
    expect(told).toBe('deleted {"id":"1"}read {"id":"2"}');
  });

  check("an argument may have any name", async () => {
    await using at = await open({ tools });
    const javascript = `(await tools.record({ ${awkward.map((name) => `${name}: "${name}"`).join(", ")} })).structured`;
    const python = `tools.record(${awkward.map((name) => `${name}="${name}"`).join(", ")}).structured`;
    const given = Object.fromEntries(awkward.map((name) => [name, name]));
    expect(JSON.parse(String(await run(at, python, javascript)))).toEqual(given);
  });

  check("an action without its tool is unknown, and the list names its tool", async () => {
    await using at = await open({ tools });
    const javascript = "try { tools.delete } catch (error) { return error.message }";
    const python = "try:\n    getattr(tools, 'delete')\nexcept Exception as error:\n    said = str(error)\nsaid";
    expect(await run(at, python, javascript)).toMatch(
      /no .*tool.*delete.*(?:Available|There are): orders\.delete, orders\.read, record|no .*delete.*orders\.read, orders\.delete, record/,
    );
  });

  if (isPython) {
    check("tools with one action or with several need no `tools.` prefix", async () => {
      await using at = await open({ tools });
      expect(await run(at, 'record(name="a").text + orders.delete(id="3").text', "")).toContain('deleted {"id":"3"}');
    });

    check("awaited calls run together, whichever names they have", async () => {
      await using at = await open({ tools });
      const source =
        'import asyncio\ntwo = await asyncio.gather(record(self="a"), tools.orders.read(id="4"))\n[each.status for each in two]';
      expect(JSON.parse(String(await run(at, source, "")).replaceAll("'", '"'))).toEqual(["ok", "ok"]);
    });
  }
});
