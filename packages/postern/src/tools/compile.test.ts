import { expect, it } from "vitest";
import { compile } from "./compile.ts";
import { defineTool } from "./define.ts";
import type { CompileOptions } from "./facts.ts";
import type { AnyTool, LocalTool } from "./kinds.ts";
import { JsonSchemas } from "./schema/json-schema.ts";
import type { Action, ToolContext } from "./tool.ts";

const schemas = new JsonSchemas();
const compiled = (tool: AnyTool, options: CompileOptions = {}): readonly Action[] =>
  compile(tool, options, schemas).actions;
const only = (tool: AnyTool, options: CompileOptions = {}): Action =>
  compiled(tool, options)[0] ?? expect.fail("no action");
const full = {
  name: "send",
  description: "sends",
  risk: "high",
  effects: "write",
  scopes: ["mail:write"],
  permissions: ["net"],
  idempotent: false,
  timeoutMs: 1_000,
  approvalTtlMs: 5_000,
  detached: true,
  previewBinds: true,
  concurrencySafe: true,
  input: { type: "object", properties: { to: { type: "string" } } },
  execute: () => "sent",
} as const satisfies LocalTool;
const context = { callId: "call_7" } as ToolContext;

it("a fully declared tool is accepted and becomes one frozen action (case 29)", () => {
  const action = only(defineTool(full));
  expect(action).toMatchObject({
    ...{
      tool: "send",
      name: "default",
      kind: "local",
      toolType: "FUNCTION",
      timeoutMs: 1_000,
      approvalTtlMs: 5_000,
      idempotent: false,
    },
    ...{
      detached: true,
      previewBinds: true,
      concurrencySafe: true,
      suspends: false,
      requireIdempotencyKey: false,
      notFromChain: undefined,
    },
    facts: {
      tool: "send",
      action: "default",
      risk: "high",
      riskSource: "declared",
      effects: "write",
      scopes: ["mail:write"],
      permissions: ["net"],
    },
    definition: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(() => Object.assign(action, { idempotent: true })).toThrow(TypeError);
  expect(() => Object.assign(action.facts, { risk: "safe" })).toThrow(TypeError);
  expect(() => Object.assign(action.inputSchema["properties"] ?? {}, { x: 1 })).toThrow(TypeError);
});

it("refuses an incomplete tool with tool, member and fix", () => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ risk: undefined }, /Tool `send`: `risk` is missing; write one of safe, medium, high, critical/],
    [{ risk: "hgih" }, /`risk` is `hgih`; write one of/],
    [{ risk: "low" }, /`risk` is `low`; write `safe` if it has no side effect, else `medium`/],
    [{ risk: "toString" }, /`risk` is `toString`/],
    [{ idempotent: undefined }, /`idempotent` must be true/],
    [{ idempotent: "no" }, /`idempotent` must be true/],
    [{ input: "x" }, /`input` must be a Standard Schema/],
    [{ effects: "none" }, /`effects` is `none`/],
    [{ scopes: "mail" }, /`scopes` must be a list/],
    [{ scopes: [""] }, /`scopes` must hold only non-empty texts/],
    [{ timeoutMs: -1 }, /`timeoutMs` must be a whole number/],
    [{ timeoutMs: Number.NaN }, /`timeoutMs` must be a whole number/],
    [{ detached: "yes" }, /`detached` must be true or false/],
    [{ toolType: "X" }, /`toolType` is `X`/],
    [{ preview: 1 }, /`preview` must be a function/],
    [{ actions: {} }, /`actions` is empty/],
    [{ actions: { go: { risk: "none" } } }, /Tool `send.go`: `risk` is `none`/],
    [{ execute: undefined, actions: { go: {} } }, /Tool `send.go`: `execute` is missing/],
    [{ execute: "x" }, /does not have the shape of a tool/],
  ];
  for (const [change, message] of cases) {
    const refused = (): unknown => compiled({ ...full, ...change } as AnyTool);
    expect(refused, String(message)).toThrow(
      expect.objectContaining({ code: "options_invalid", message: expect.stringMatching(message) }),
    );
  }
});

it("effects follow the risk where none are stated", () => {
  const { effects: _effects, ...plain } = full;
  expect(only({ ...plain, risk: "safe" }).facts).toMatchObject({ risk: "safe", effects: "read" });
  expect(only({ ...plain, risk: "critical" }).facts).toMatchObject({
    risk: "critical",
    effects: "write",
  });
});

it("an action's members win over its tool's; scopes are needed together", () => {
  const [create, erase] = compiled({
    ...full,
    execute: (_input, _context, action) => `tool ran ${action}`,
    actions: {
      create: { scopes: ["mail:create"] },
      delete: {
        risk: "critical",
        effects: "destructive",
        description: "erases",
        idempotent: true,
        execute: () => "own",
      },
    },
  });
  expect(create).toMatchObject({
    name: "create",
    description: "sends",
    idempotent: false,
    facts: { risk: "high", scopes: ["mail:write", "mail:create"] },
  });
  expect(erase).toMatchObject({
    name: "delete",
    description: "erases",
    idempotent: true,
    facts: { risk: "critical", effects: "destructive" },
  });
  expect([create?.execute({}, context), erase?.execute({}, context)]).toEqual(["tool ran create", "own"]);
});

it("an operator's override wins, an action's over the tool's, and scopes only add", () => {
  const options: CompileOptions = {
    server: "crm",
    risk: "medium",
    idempotent: true,
    timeoutMs: 5,
    scopes: ["crm"],
    actions: { default: { risk: "critical", scopes: ["extra"] } },
  };
  const action = only(full, options);
  expect(action).toMatchObject({
    idempotent: true,
    timeoutMs: 5,
    facts: {
      risk: "critical",
      riskSource: "operator",
      server: "crm",
      scopes: ["mail:write", "crm", "extra"],
    },
  });
  expect(only(full, { riskSource: "default" }).facts.riskSource).toBe("default");
});

it("the definition changes with everything a person reads, and nothing else", () => {
  const base = only(full).definition;
  for (const change of [
    { description: "x" },
    { risk: "critical" },
    { effects: "destructive" },
    { scopes: [] },
    { idempotent: true },
    { input: { type: "object" } },
    { outputSchema: { type: "string" } },
  ] as const) {
    expect(only({ ...full, ...change }).definition, JSON.stringify(change)).not.toBe(base);
  }
  expect(only(full, { server: "other" }).definition).not.toBe(base);
  expect(only({ ...full, timeoutMs: 9, execute: () => "other" }).definition).toBe(base);
});

it("a hosted tool runs nothing here and no error reaches the model (case 13, case 42)", () => {
  const action = only({ name: "web", description: "d", providerSpecs: { openai: {} } });
  expect(action).toMatchObject({
    kind: "hosted",
    facts: { risk: "safe", riskSource: "default", effects: "read" },
  });
  expect(action.notFromChain).toContain("provider-hosted");
  expect(action.execute({}, context)).toContain("nothing ran here");
});

it("a provider-defined tool's handleCall runs once, and execute is never looked for (case 12, case 43)", () => {
  const calls: unknown[] = [];
  const tool = {
    name: "computer",
    description: "d",
    providerSpecs: {},
    callTypes: ["computer_call"],
    handleCall: (call: unknown) => {
      calls.push(call);
      return { type: "computer_call_output" };
    },
    get execute(): never {
      throw new Error("looked for");
    },
  };
  const action = only(tool);
  expect(action.notFromChain).toContain("provider-defined");
  expect(action).toMatchObject({
    kind: "provider_defined",
    facts: { risk: "high", riskSource: "default" },
  });
  expect(action.execute({ x: 1 }, context)).toEqual({ type: "computer_call_output" });
  expect(calls).toEqual([{ kind: "tool_call", name: "computer", arguments: { x: 1 }, callId: "call_7" }]);
});

it("tool_chain cannot be called from a chain, even when registered (case 44)", () => {
  expect(only({ ...full, name: "tool_chain" }).notFromChain).toContain("recursion");
});

it("the bodies of a class keep their `this`", async () => {
  class Tool {
    readonly name = "t";
    readonly description = "d";
    readonly risk = "safe";
    readonly idempotent = true;
    #word = "kept";
    execute(): string {
      return this.#word;
    }
    async preview(): Promise<string> {
      return this.#word;
    }
    classifyRisk(): "high" {
      return this.#word === "kept" ? "high" : "high";
    }
    async reconcile(): Promise<never> {
      return { found: this.#word } as never;
    }
  }
  const action = only(new Tool());
  expect([
    action.execute({}, context),
    await action.preview?.({}, context),
    action.classifyRisk?.({}),
    await action.reconcile?.({}, context),
  ]).toEqual(["kept", "kept", "high", { found: "kept" }]);
});
