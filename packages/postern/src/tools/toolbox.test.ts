import { RuntimeFault } from "@postern/core";
import { expect, it } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { defineTool } from "./define.ts";
import type { AnyTool, HostedTool, LocalTool, ProviderDefinedTool } from "./kinds.ts";
import { internalsOf, Registry } from "./registry.ts";
import { Toolbox } from "./toolbox.ts";

const tool = (name: string, risk: "safe" | "high" = "high"): LocalTool =>
  defineTool({ name, description: name, risk, idempotent: false, execute: () => name });
const hosted: HostedTool = {
  name: "web",
  description: "d",
  providerSpecs: { openai: { type: "web" }, anthropic: { type: "w" } },
};
const computer: ProviderDefinedTool = {
  name: "computer",
  description: "d",
  providerSpecs: {},
  callTypes: ["c"],
  handleCall: () => "x",
};

it("all three kinds live in one box and are found again (case 4)", () => {
  const tools: readonly AnyTool[] = [tool("a"), hosted, computer];
  const box = new Toolbox(tools);
  expect(box.length).toBe(3);
  expect(tools.map(({ name }) => box.get(name))).toEqual(tools);
});

it("a box with one high tool says so in every way (case 19)", () => {
  const box = new Toolbox();
  const one = tool("one");
  box.add(one);
  expect([box.length, box.has("one"), box.names()]).toEqual([1, true, ["one"]]);
  expect(box.get("one")).toBe(one);
  expect([box.byRisk("high"), box.byRisk("safe")]).toEqual([[one], []]);
  for (const risk of ["HIGH", "nonsense", ""])
    expect(() => box.byRisk(risk)).toThrow(/is not a risk level; write one of safe/);
});

it("a box keeps the last tool of a name, a runtime refuses the second (case 20)", () => {
  const [first, second] = [tool("same"), tool("same")];
  const box = new Toolbox([first, second]);
  expect([box.length, box.get("same") === second]).toEqual([1, true]);
  const registry = new Registry({ clock: new FakeClock() });
  registry.register(first);
  expect(() => registry.register(second)).toThrow(
    expect.objectContaining({ code: "tool_name_invalid", message: expect.stringContaining("`same`") }),
  );
  expect(internalsOf(registry).toolNamed("same")).toBe(first);
  registry.register(second, { replace: true });
  expect(internalsOf(registry).toolNamed("same")).toBe(second);
});

it("an unknown name is null, also one that every object has (case 21)", () => {
  const box = new Toolbox([tool("a")]);
  for (const name of ["x", "constructor", "__proto__", "toString"]) {
    expect([box.get(name), box.schemaFor(name), box.has(name)]).toEqual([null, null, false]);
  }
});

it("a list and a box give the same tools (case 22)", () => {
  const tools = [tool("a"), tool("b")];
  const box = new Toolbox(tools);
  expect(Toolbox.from(tools).all()).toEqual(Toolbox.from(box).all());
  expect(Toolbox.from(box)).toBe(box);
});

it("all users of a box see later tools, and none sees a refused one (case 23)", () => {
  const box = new Toolbox([tool("a")]);
  const runtimes = [new Registry({ clock: new FakeClock() }), new Registry({ clock: new FakeClock() })];
  for (const runtime of runtimes) {
    for (const one of box) runtime.register(one);
    box.follow((added) => {
      runtime.register(added);
      return () => void runtime.unregister(added.name);
    });
  }
  box.add(tool("b"));
  expect(runtimes.map((runtime) => runtime.names())).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
  runtimes[1]?.register(tool("c"));
  const before = box.get("c");
  expect(() => box.add(tool("c"))).toThrow(RuntimeFault);
  expect([box.get("c"), before]).toEqual([null, null]);
  expect(runtimes[0]?.names()).toEqual(["a", "b"]);
});

it("schemas hold a local tool's fields and a hosted one's first entry (case 24)", () => {
  const schemas = new Toolbox([tool("a"), hosted]).schemas();
  expect(schemas).toEqual([
    {
      name: "a",
      description: "a",
      parameters: { type: "object", properties: {}, additionalProperties: false },
    },
    { type: "web" },
  ]);
  expect(new Toolbox([hosted]).schemas({ provider: "anthropic" })).toEqual([{ type: "w" }]);
});

it("a hosted tool with empty specs has no schema at all (case 25)", () => {
  const box = new Toolbox([{ name: "web", description: "d", providerSpecs: {} }]);
  expect([box.schemas(), box.schemaFor("web")]).toEqual([[], null]);
});

it("deferred schemas carry the flag, and the search sentinel is last when asked for (case 26)", () => {
  const box = new Toolbox([tool("a"), tool("b")]);
  expect(box.deferredSchemas().map((schema) => (schema as { deferLoading?: boolean }).deferLoading)).toEqual([
    true,
    true,
  ]);
  expect(box.deferredSchemas({ includeToolSearch: true }).at(-1)).toEqual({ type: "tool_search" });
  expect(box.schemas()).not.toContainEqual(expect.objectContaining({ deferLoading: true }));
});

it("each action of a tool is offered under its own name, described by itself or by the tool", () => {
  const box = new Toolbox([
    defineTool({
      name: "mail",
      description: "mails",
      risk: "high",
      idempotent: false,
      actions: { send: { description: "sends" }, list: { risk: "safe" } },
      execute: () => "x",
    }),
  ]);
  expect(box.schemas()).toMatchObject([
    { name: "mail__send", description: "sends" },
    { name: "mail__list", description: "mails" },
  ]);
  expect(box.schemaFor("mail__list")).toMatchObject({ name: "mail__list" });
});

it("refuses a value that is no tool and names what it lacks", () => {
  expect(() => new Toolbox().add({ name: "x" } as unknown as AnyTool)).toThrow(/`x` does not have the shape of a tool/);
  expect(() => new Toolbox().add(null as unknown as AnyTool)).toThrow(RuntimeFault);
});
