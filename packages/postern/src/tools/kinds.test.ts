import { expect, it } from "vitest";
import { isHostedTool, isLocalTool, isProviderDefinedTool, kindOf } from "./kinds.ts";
import { legacyTool } from "./legacy.ts";

const named = { name: "t", description: "d" };

it("a local tool is neither hosted nor provider-defined (case 1)", () => {
  const tool = { ...named, execute: () => "x" };
  expect([isLocalTool(tool), isHostedTool(tool), isProviderDefinedTool(tool)]).toEqual([true, false, false]);
});

it("an object with provider specs and no handleCall is hosted (case 2)", () => {
  const tool = { ...named, providerSpecs: { openai: {} } };
  expect([isHostedTool(tool), isProviderDefinedTool(tool), isLocalTool(tool)]).toEqual([true, false, false]);
});

it("an object with provider specs, handleCall and callTypes is provider-defined (case 3)", () => {
  const ours = { ...named, providerSpecs: {}, handleCall: () => "x", callTypes: ["computer_call"] };
  const theirs = legacyTool({
    ...named,
    provider_specs: {},
    handle_call: () => "x",
    call_types: ["computer_call"],
  });
  for (const tool of [ours, theirs]) {
    expect([isProviderDefinedTool(tool), isHostedTool(tool), isLocalTool(tool)]).toEqual([true, false, false]);
  }
});

it("a kind needs all its members with the right types", () => {
  const hosted = { ...named, providerSpecs: {} };
  for (const broken of [
    ...[null, undefined, 1, "tool", [], () => "x", {}],
    ...[
      { ...hosted, name: "" },
      { ...hosted, name: 1 },
      { ...hosted, description: undefined },
      { ...hosted, providerSpecs: [] },
    ],
    ...[
      { ...hosted, handleCall: () => "x" },
      { ...hosted, handleCall: () => "x", callTypes: [""] },
    ],
    ...[{ ...named }, { ...named, execute: "x" }],
  ]) {
    expect(kindOf(broken), JSON.stringify(broken)).toBeUndefined();
  }
});
