import type { JsonObject } from "@postern/core";
import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { defineTool, isSuspended, suspend } from "./define.ts";
import type { AnyTool } from "./kinds.ts";
import { legacyTool } from "./legacy.ts";
import { internalsOf, Registry } from "./registry.ts";
import type { Action, Parsed, ToolContext } from "./tool.ts";

const register = (tool: AnyTool, action = "default"): Action => {
  const registry = new Registry({ clock: new FakeClock() });
  registry.register(tool);
  return internalsOf(registry).find(tool.name, action) ?? expect.fail(`no ${action}`);
};
const context = { callId: "call_1" } as ToolContext;

it("makes a schema of a declaration and readable errors of bad arguments (case 267)", async () => {
  const tool = defineTool({
    name: "add",
    description: "adds",
    risk: "safe",
    idempotent: true,
    input: z.object({ a: z.number(), b: z.number().default(2) }),
    execute: ({ a, b }) => a + b,
  });
  const action = register(tool);
  expect(action.inputSchema).toMatchObject({
    type: "object",
    properties: { a: { type: "number" } },
    required: ["a"],
  });
  expect(action.parse({ a: 1 })).toEqual({ input: { a: 1, b: 2 } });
  expect(action.parse({ a: "x" })).toEqual({
    issues: [{ path: ["a"], message: expect.stringMatching(/expected number/) }],
  });
  expect(await action.execute({ a: 1, b: 2 }, context)).toBe(3);
  const { risk: _risk, ...riskless } = tool;
  expect(() => register(riskless)).toThrow(/`risk` is missing/);
  const { idempotent: _idempotent, ...vague } = tool;
  expect(() => register(vague)).toThrow(/`idempotent` must be true/);
});

it("the arguments of the bodies are typed by the schema, of each action by its own", () => {
  defineTool({
    name: "mail",
    description: "d",
    risk: "high",
    idempotent: false,
    input: z.object({ to: z.string() }),
    classifyRisk: (given) => {
      expectTypeOf(given).toEqualTypeOf<{ to: string }>();
      return { risk: "critical", target: given.to };
    },
    preview: async (given) => ({ summary: given.to }),
    execute: async (given, { signal }) => {
      expectTypeOf(given).toEqualTypeOf<{ to: string }>();
      return String(signal.aborted);
    },
    actions: {
      erase: { input: z.object({ id: z.number() }), execute: ({ id }) => id.toFixed() },
      list: {
        input: { type: "object" },
        execute: (given) => {
          expectTypeOf(given).toEqualTypeOf<JsonObject>();
          return given;
        },
      },
    },
  });
});

it("an async schema makes parsing a promise, every other one does not", async () => {
  const late = z.object({ to: z.string().refine(async (to) => to === "x") });
  const tool = (input: z.ZodType): AnyTool =>
    defineTool({
      name: "t",
      description: "d",
      risk: "safe",
      idempotent: true,
      input,
      execute: () => "x",
    });
  expect(register(tool(z.object({}))).parse({})).toEqual({ input: {} });
  const parsed = register(tool(late)).parse({ to: "y" });
  expect(parsed).toBeInstanceOf(Promise);
  expect(await parsed).toMatchObject({ issues: [{ path: ["to"] }] });
});

it("a schema that throws or answers nonsense lets nothing through", () => {
  const broken = (validate: () => Parsed): AnyTool =>
    defineTool({
      name: "t",
      description: "d",
      risk: "safe",
      idempotent: true,
      inputSchema: { type: "object" },
      input: { "~standard": { version: 1, vendor: "x", validate: validate as never } },
      execute: () => "x",
    });
  expect(
    register(
      broken(() => {
        throw new Error("boom");
      }),
    ).parse({}),
  ).toMatchObject({ issues: [{ message: expect.stringContaining("boom") }] });
  expect(register(broken(() => ({}) as Parsed)).parse({})).toMatchObject({ issues: [{}] });
});

it("a schema without a JSON Schema form needs an inputSchema, and the fault says so", () => {
  const base = {
    name: "t",
    description: "d",
    risk: "safe",
    idempotent: true,
    execute: () => "x",
  } as const;
  const input = z.object({ when: z.date() });
  expect(() => register(defineTool({ ...base, input }))).toThrow(/state `inputSchema` as well/);
  const inputSchema = { type: "object", properties: { when: { type: "string" } } };
  expect(register(defineTool({ ...base, input, inputSchema })).inputSchema).toEqual(inputSchema);
  const foreign = {
    "~standard": { version: 1, vendor: "odd", validate: (value: unknown) => ({ value }) },
  } as const;
  expect(() => register(defineTool({ ...base, input: foreign }))).toThrow(/a schema of `odd` has no JSON Schema form/);
});

it("a tool without an input takes no arguments", () => {
  const action = register(
    defineTool({ name: "t", description: "d", risk: "safe", idempotent: true, execute: () => "x" }),
  );
  expect([action.parse({}), action.parse({ a: 1 })]).toEqual([
    { input: {} },
    { issues: [{ path: ["a"], message: "is not a known argument" }] },
  ]);
});

it("a bare object is taken by legacyTool, which states safe for it (C4, case 87)", async () => {
  const ravi = {
    name: "old",
    description: "d",
    input_schema: { type: "object", properties: { q: { type: "string" } } },
    execute: (ctx: ToolContext, args: JsonObject) => `${ctx.callId} ${args["q"]}`,
  };
  expect(() => register(ravi as unknown as AnyTool)).toThrow(/legacyTool/);
  const action = register(legacyTool(ravi));
  expect([action.facts.risk, action.idempotent, action.inputSchema]).toEqual(["safe", false, ravi.input_schema]);
  expect(await action.execute({ q: "x" }, context)).toBe("call_1 x");
  expect(register(legacyTool({ name: "risky", description: "d", risk: "high", execute: () => "x" })).facts.risk).toBe(
    "high",
  );
});

it("a legacy class keeps its `this`, and ours is called with the arguments first", async () => {
  class Legacy {
    readonly name = "old";
    readonly description = "d";
    #secret = 7;
    execute(_given: unknown, { callId }: ToolContext): string {
      return `${callId} ${this.#secret}`;
    }
  }
  expect(await register(legacyTool(new Legacy())).execute({}, context)).toBe("call_1 7");
});

it("suspends only by an answer of suspend, not by JSON", () => {
  const suspended = suspend("image", "apr_1");
  expect([isSuspended(suspended), isSuspended({ ...suspended }), isSuspended(null), isSuspended("x")]).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(suspended).toEqual({ suspended: "image", approvalId: "apr_1" });
});
