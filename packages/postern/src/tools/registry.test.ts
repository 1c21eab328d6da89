import { expect, it, vi } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { defineTool } from "./define.ts";
import type { LocalTool } from "./kinds.ts";
import { internalsOf, Registry, type RegistryOptions } from "./registry.ts";
import type { Action } from "./tool.ts";

const tool = (name: string, more: Partial<LocalTool> = {}): LocalTool =>
  defineTool({
    name,
    description: name,
    risk: "safe",
    idempotent: true,
    execute: () => name,
    ...more,
  } as LocalTool);
const registry = (options: Partial<RegistryOptions> = {}): Registry =>
  new Registry({ clock: new FakeClock(1_000), ...options });
const action = (from: Registry, name: string): Action =>
  internalsOf(from).find(name, "default") ?? expect.fail(`no ${name}`);
const names = (list: readonly { readonly toolName: string }[]): readonly string[] =>
  list.map(({ toolName }) => toolName);

it("refuses a second tool of a name without replace (case 30)", () => {
  const tools = registry();
  tools.register(tool("a"));
  expect(() => tools.register(tool("a"))).toThrow(/A tool named `a` is registered already/);
  expect(tools.register(tool("a", { risk: "high" }), { replace: true }).riskDefault).toBe("high");
});

it("shows a registered tool as data, with every action's risk", () => {
  const mail = tool("mail", {
    risk: "high",
    scopes: ["m"],
    preview: () => "p",
    actions: { send: {}, wipe: { risk: "critical", scopes: ["w"] } },
  });
  const seen = registry().register(mail, { server: "crm", configRef: "connectors/7" });
  expect(seen).toEqual({
    ...{
      toolName: "mail",
      connectorId: "crm",
      capabilities: ["send", "wipe"],
      scopes: ["m", "w"],
      riskDefault: "high",
    },
    ...{
      riskMap: { send: "high", wipe: "critical" },
      supportsPreview: true,
      providerType: "mcp",
      configRef: "connectors/7",
    },
    health: { status: "healthy", consecutiveErrors: 0 },
  });
});

it("finds own actions only, whatever they are called", () => {
  const tools = registry();
  tools.register(tool("constructor"));
  expect(internalsOf(tools).find("constructor", "default")?.tool).toBe("constructor");
  expect([
    internalsOf(tools).find("constructor", "toString"),
    internalsOf(tools).find("toString", "default"),
    internalsOf(tools).find("__proto__", "default"),
  ]).toEqual([undefined, undefined, undefined]);
  expect([tools.has("constructor"), tools.has("valueOf")]).toEqual([true, false]);
});

it("an unavailable tool fails fast, with what is known of it (case 31)", () => {
  const tools = registry();
  tools.register(tool("a"));
  expect(tools.unavailable(action(tools, "a"))).toBeUndefined();
  tools.updateHealth("a", { status: "unavailable", lastError: "maintenance" });
  expect(tools.unavailable(action(tools, "a"))).toContain("maintenance");
  expect([tools.updateHealth("b", { status: "healthy" }), tools.get("b")]).toEqual([false, null]);
});

it("a degraded tool still runs: listHealthy omits it, listCallable has it (case 32)", () => {
  const tools = registry();
  for (const name of ["b", "a", "c"]) tools.register(tool(name));
  tools.updateHealth("a", { status: "degraded" });
  tools.updateHealth("c", { status: "unavailable" });
  expect([names(tools.listHealthy()), names(tools.listCallable()), names(tools.all())]).toEqual([
    ["b"],
    ["a", "b"],
    ["a", "b", "c"],
  ]);
  expect(tools.unavailable(action(tools, "a"))).toBeUndefined();
});

it("success makes healthy and sets the time, failures count up and keep the last error (case 33)", async () => {
  const clock = new FakeClock(1_000);
  const tools = registry({ clock });
  tools.register(tool("a"));
  for (const error of ["one", "two", "three"]) internalsOf(tools).report(action(tools, "a"), { well: false, error });
  expect(tools.get("a")?.health).toEqual({
    status: "degraded",
    consecutiveErrors: 3,
    lastError: "three",
  });
  expect(tools.unavailable(action(tools, "a"))).toBeUndefined();
  await clock.advance(5);
  internalsOf(tools).report(action(tools, "a"), { well: true });
  expect(tools.get("a")?.health).toEqual({
    status: "healthy",
    consecutiveErrors: 0,
    lastSuccessAt: 1_005,
    lastError: "three",
  });
});

it("a rate limited tool fails until the limit resets", async () => {
  const clock = new FakeClock(1_000);
  const tools = registry({ clock });
  tools.register(tool("a"));
  internalsOf(tools).report(action(tools, "a"), { well: false, error: "429", rateLimitResetsAt: 1_050 });
  expect(tools.unavailable(action(tools, "a"))).toBe("it is rate limited until 1970-01-01T00:00:01.050Z");
  await clock.advance(50);
  expect(tools.unavailable(action(tools, "a"))).toBeUndefined();
});

it("an operator's switches turn tools and servers off at once", () => {
  let off = { offTools: [] as readonly string[], offServers: [] as readonly string[] };
  const tools = registry({ switches: () => off });
  tools.register(tool("a"));
  tools.register(tool("b"), { server: "crm" });
  off = { offTools: ["a"], offServers: ["crm"] };
  expect(tools.unavailable(action(tools, "a"))).toContain("`a` is switched off");
  expect(tools.unavailable(action(tools, "b"))).toContain("`crm` is switched off");
});

it("all tools of a server that is gone are unavailable, until it is back", () => {
  const tools = registry();
  tools.register(tool("a"), { server: "crm" });
  tools.setServer("crm", "down", "ECONNREFUSED");
  expect(tools.unavailable(action(tools, "a"))).toContain("not connected: ECONNREFUSED");
  expect(tools.get("a")?.health).toMatchObject({
    status: "unavailable",
    lastError: "ECONNREFUSED",
  });
  expect(names(tools.listCallable())).toEqual([]);
  tools.setServer("crm", "up");
  expect([tools.unavailable(action(tools, "a")), names(tools.listHealthy())]).toEqual([undefined, ["a"]]);
});

it("a dump as JSON holds no credential (case 35)", () => {
  const tools = registry();
  class Keyed {
    readonly apiKey = "sk-secret";
    readonly name = "a";
    readonly description = "d";
    readonly risk = "safe";
    readonly idempotent = true;
    execute(): string {
      return this.apiKey;
    }
  }
  tools.register(new Keyed(), { configRef: "connectors/1" });
  const dump = JSON.stringify(tools);
  expect(dump).not.toContain("sk-secret");
  expect(JSON.parse(dump)).toMatchObject([{ toolName: "a", configRef: "connectors/1" }]);
});

it("a locked registry takes no tools: addTool is false and nothing is registered (case 268)", () => {
  const tools = registry();
  expect(tools.tryRegister(tool("a"))).toBe(true);
  tools.lock();
  expect([tools.tryRegister(tool("b")), tools.has("b")]).toEqual([false, false]);
  expect(() => tools.register(tool("b"))).toThrow(
    expect.objectContaining({
      code: "options_invalid",
      message: expect.stringContaining("takes no tools after its start"),
    }),
  );
});

it("tells what came and went, and lists actions in the order of tools", () => {
  const onChange = vi.fn();
  const tools = registry({ onChange });
  for (const name of ["b", "a"]) tools.register(tool(name));
  expect(tools.offers().map(({ tool: name }) => name)).toEqual(["a", "b"]);
  expect(tools.offers()).toBe(tools.offers());
  const gone = action(tools, "b");
  expect([tools.unregister("b"), tools.unregister("b"), tools.unavailable(gone)]).toEqual([
    true,
    false,
    "`b` is not registered any more",
  ]);
  expect(tools.offers().map(({ tool: name }) => name)).toEqual(["a"]);
  expect(onChange.mock.calls.flat()).toEqual([
    { change: "added", name: "b" },
    { change: "added", name: "a" },
    { change: "removed", name: "b" },
  ]);
  internalsOf(tools).report(gone, { well: true });
  tools.register(tool("B"));
});

it("an invalid server schema makes the tool unavailable, and `ready` says why", async () => {
  await using tools = registry();
  tools.register(tool("a", { input: { type: "objekt" } }));
  await expect(tools.ready()).rejects.toThrow(
    expect.objectContaining({ code: "options_invalid", message: expect.stringContaining("#/type") }),
  );
  expect(tools.unavailable(action(tools, "a"))).toContain("is refused");
  expect(await action(tools, "a").parse({})).toEqual({ unusable: expect.stringContaining("refused") });
});
