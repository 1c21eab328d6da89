import { expect, it } from "vitest";
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

it("an action that a script asks for beside a tool's name is the one that runs, or is refused", async () => {
  await using runtime = await createRuntime({ tools: [orders], chains: { engines: ["quickjs"] } });
  const code = `const said = [];
    for (const options of [undefined, { action: "default" }, { action: "count" }, { action: "delete" }, { action: "none" }])
      try { said.push((await tools.orders({}, options)).text) } catch (error) { said.push(error.code) }
    return said`;
  const { structured } = await runtime.runChain({ code });
  const { output_text: said } = structured as { readonly output_text: string }; // a ChainRunResult
  expect(JSON.parse(said)).toEqual(["listed", "listed", "counted", "approval_unavailable", "tool_unknown"]);
});
