import { expect, it } from "vitest";
import { createRuntime } from "../../packages/postern/src/index.ts";
import { toolList } from "../../packages/postern/src/mcp/server/offer.ts";
import { legacyTool, specOf, Toolbox, type ToolCallRequest } from "../../packages/postern/src/tools/index.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { asker } from "../fakes/runtime-fixture.ts";

const computer = legacyTool({
  name: "computer",
  description: "Drives a screen.",
  provider_specs: {
    openai: { type: "computer_use_preview" },
    anthropic: { type: "computer_20251124", name: "computer" },
  },
  call_types: ["computer_call", "computer_use"],
  risk: "safe",
  idempotent: true,
  handle_call: ({ name, arguments: given }: ToolCallRequest) => `${name} did ${String(given["action"])}`,
});
const search = { name: "web_search", description: "Searches.", providerSpecs: { openai: { type: "web_search" } } };

it("call types and provider specs are listed wherever the tool is listed", async () => {
  await using runtime = await createRuntime({ tools: [computer, search] });
  const messages = { providerSpecs: computer.providerSpecs, callTypes: computer.callTypes };
  expect(runtime.offered().find(({ tool }) => tool === "computer")).toMatchObject(messages);
  expect(runtime.tools.offer("computer")).toMatchObject(messages);
  expect(runtime.tools.get("computer")).toMatchObject(messages);
  expect(specOf(computer, "openai")).toEqual({
    kind: "provider",
    name: "computer",
    provider: "openai",
    spec: { type: "computer_use_preview" },
    callTypes: ["computer_call", "computer_use"],
  });
  expect(runtime.tools.get("web_search")).toMatchObject({ providerSpecs: search.providerSpecs });
  const { ask, tokens } = await httpFixture(runtime);
  const answer = await ask("/v1/tools/computer", { headers: { authorization: `Bearer ${tokens.agent}` } });
  expect(await answer.json()).toMatchObject({
    actions: [{ provider_specs: computer.providerSpecs, call_types: computer.callTypes }],
  });
});

it("an MCP client sees a provider-defined tool, and no hosted one", async () => {
  await using runtime = await createRuntime({ tools: [computer, search] });
  const visit = { caller: { principal: asker.principal }, server: undefined } as Parameters<typeof toolList>[1]; // all it reads
  expect(toolList(runtime, visit, true)).toMatchObject([
    {
      name: "computer",
      _meta: { "postern/provider_specs": computer.providerSpecs, "postern/call_types": computer.callTypes },
    },
  ]);
});

it.each(["computer", "computer_call", "computer_use"])(
  "a call that arrives as %s is a call of the tool",
  async (tool) => {
    await using runtime = await createRuntime({ tools: [computer] });
    const outcome = await runtime.invoke({ tool, arguments: { action: "click" } }, asker);
    expect(outcome).toMatchObject({ status: "ok", text: "computer did click" });
    expect(await runtime.calls.get(outcome.callId)).toMatchObject({ call: { tool: "computer" } });
    expect(await runtime.explain({ tool, arguments: {} }, asker)).toMatchObject({ reached: "verdict" });
  },
);

it("a call type belongs to one tool, and is removed with it", async () => {
  await using runtime = await createRuntime({ tools: [computer] });
  const other = { ...computer, name: "other" };
  expect(() => runtime.tools.register(other)).toThrow("The call type `computer_call` of `other` belongs to `computer`");
  expect(runtime.tools.has("other")).toBe(false);
  runtime.tools.unregister("computer");
  runtime.tools.register(other);
  expect(await runtime.invoke({ tool: "computer_call", arguments: { action: "x" } }, asker)).toMatchObject({
    text: "other did x",
  });
});

it("schemas of a provider warn once of each tool they leave out", async () => {
  const warnings: string[] = [];
  const warn = (warning: Error): void => void warnings.push(warning.message);
  process.on("warning", warn);
  try {
    const own = { ...search, name: "own_search" };
    const box = new Toolbox([computer, own]);
    await using runtime = await createRuntime({ tools: box });
    for (const tools of [box, runtime.tools, box]) expect(tools.schemas({ provider: "anthropic" })).toHaveLength(1);
    box.deferredSchemas({ provider: "anthropic" });
    expect(specOf(own, "anthropic")).toBeNull();
    await new Promise((done) => setImmediate(done)); // warnings are told in a turn of their own
    expect(warnings).toEqual(["Tool `own_search` has no specification for `anthropic`; it is left out."]);
    box.schemas({ provider: "google" });
    await new Promise((done) => setImmediate(done));
    expect(warnings).toHaveLength(3);
  } finally {
    process.off("warning", warn);
  }
});

it("byRisk refuses an unknown level", async () => {
  await using runtime = await createRuntime({ tools: [computer] });
  expect(runtime.tools.byRisk("safe")).toHaveLength(1);
  expect(() => runtime.tools.byRisk("low")).toThrow(/write `safe` if it has no side effect, else `medium`/);
  for (const risk of ["HIGH", "severe", "", "constructor"])
    expect(() => runtime.tools.byRisk(risk)).toThrow(/is not a risk level; write one of safe, medium, high, critical/);
});
