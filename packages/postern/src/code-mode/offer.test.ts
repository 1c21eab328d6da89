import { afterAll, expect, it } from "vitest";
import { CpythonDriver } from "../../../engines/src/cpython/cpython.ts";
import { createRuntime, defineTool } from "../index.ts";

const free = { risk: "safe", effects: "read", idempotent: true, input: { type: "object" } } as const;
const orders = defineTool({
  ...{ name: "orders", description: "Orders." },
  actions: {
    default: { ...free, execute: () => "listed" },
    count: { ...free, execute: () => "counted" },
    delete: { ...free, risk: "critical", effects: "write", idempotent: false, execute: () => "deleted" },
  },
});

it("runs the action beside a tool's name, or refuses it", async () => {
  await using runtime = await createRuntime({ tools: [orders], chains: { engines: ["quickjs"] } });
  const code = `const said = [];
    for (const options of [undefined, { action: "default" }, { action: "count" }, { action: "delete" }, { action: "none" }])
      try { said.push((await tools.orders({}, options)).text) } catch (error) { said.push(error.code) }
    return said`;
  const { structured } = await runtime.runChain({ code });
  const { output_text: said } = structured as { readonly output_text: string }; // a ChainRunResult
  expect(JSON.parse(said)).toEqual(["listed", "listed", "counted", "approval_unavailable", "tool_unknown"]);
});

const called = (name: string) =>
  defineTool({ ...free, name, description: `It is ${name}.`, execute: () => `from ${name}` });

const cpython = new CpythonDriver({ warm: 0 });
const missing = await cpython.unavailable();
afterAll(() => cpython[Symbol.asyncDispose]());

const javascript = {
  engine: "quickjs",
  language: "javascript",
  call: (name: string) => `return (await tools.${name}({})).text`,
} as const;
const python = { engine: "cpython", language: "python", call: (name: string) => `tools.${name}().text` } as const;

/** Without bubblewrap there is no CPython: the run says so at its end. */
it.each(missing === undefined ? [javascript, python] : [javascript])(
  "a script in $engine finds the tools that exist when it begins",
  async (each) => {
    await using runtime = await createRuntime({ tools: [called("first"), orders], chains: { engines: [each.engine] } });
    const run = async (name: string): Promise<string> => {
      const { status, text, structured } = await runtime.runChain({ code: each.call(name), language: each.language });
      return status === "ok" ? (structured as { readonly output_text: string }).output_text : text; // a ChainRunResult
    };
    expect(await run("second")).toContain("second"); // as what there is not
    expect(await run("first")).toBe("from first");
    runtime.tools.unregister("first");
    runtime.tools.register(called("second")); // as many as before
    expect(await run("second")).toBe("from second"); // in the process of the script before, where its engine keeps one
    runtime.tools.unregister("second");
    runtime.tools.register(called("first"));
    expect(await run("first")).toBe("from first");
    expect(await run("second")).not.toBe("from second");
  },
);
