import { expect, it, vi } from "vitest";
import { defineTool } from "./define.ts";
import type { HostedTool } from "./kinds.ts";
import { legacyTool } from "./legacy.ts";
import { specOf } from "./offers.ts";
import { Toolbox } from "./toolbox.ts";

const parameters = { type: "object", properties: { q: { type: "string" } } };
const local = defineTool({
  name: "search",
  description: "finds",
  risk: "safe",
  idempotent: true,
  input: parameters,
  execute: () => "x",
});
const hosted: HostedTool = {
  name: "web",
  description: "d",
  providerSpecs: { openai: { type: "web_search_preview", size: { n: 1 } } },
};

it("a hosted tool without an entry for the provider is dropped with one warning (case 7)", () => {
  const warn = vi.fn();
  expect(specOf(hosted, "anthropic", warn)).toBeNull();
  expect(specOf(hosted, "constructor", warn)).toBeNull();
  expect(warn.mock.calls[0]).toEqual(["Tool `web` has no specification for `anthropic`; it is left out."]);
  expect(warn).toHaveBeenCalledTimes(2);
  expect(new Toolbox([hosted]).schemas({ provider: "anthropic" })).toEqual([]);
});

it("a hosted tool's spec for its provider is the declared one (case 8)", () => {
  const spec = { type: "web_search_preview", size: { n: 1 } };
  expect(specOf(hosted, "openai")).toEqual({
    kind: "provider",
    name: "web",
    provider: "openai",
    spec,
  });
});

it("a local tool is a function for every provider (case 9)", () => {
  const spec = {
    kind: "function",
    name: "search",
    description: "finds",
    parameters,
    lazySchema: false,
    strict: true,
  };
  expect([specOf(local, "openai"), specOf(local, "any")]).toEqual([spec, spec]);
});

it("one deferLoading member makes both the spec lazy and the schema deferred (case 10)", () => {
  const deferred = defineTool({ ...local, deferLoading: true });
  expect(specOf(deferred, "openai")).toMatchObject({ lazySchema: true });
  expect(new Toolbox([deferred]).schemas()).toEqual([
    { name: "search", description: "finds", parameters, deferLoading: true },
  ]);
  const ravi = legacyTool({
    name: "old",
    description: "d",
    input_schema: parameters,
    defer_loading: true,
    execute: () => "x",
  });
  expect(specOf(ravi, "openai")).toMatchObject({ lazySchema: true, parameters });
});

it("specs survive JSON and differ by their kind (case 11)", () => {
  for (const spec of [specOf(local, "openai"), specOf(hosted, "openai")]) {
    const again: unknown = JSON.parse(JSON.stringify(spec));
    expect(again).toEqual(spec);
    expect(again).toHaveProperty("kind", spec?.kind);
  }
});
