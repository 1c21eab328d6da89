import { expect, expectTypeOf, it } from "vitest";
import { assertConvertible, noOpaqueFields, opaqueFields, toCamelCase, toSnakeCase } from "./case.ts";

it("converts names at every depth and back", () => {
  const camel = { callTimeoutMs: 1, rules: [{ oneOf: ["a_b"], not: { samePath: true } }] };
  const snake = { call_timeout_ms: 1, rules: [{ one_of: ["a_b"], not: { same_path: true } }] };
  expect(toSnakeCase(camel, noOpaqueFields)).toEqual(snake);
  expect(toCamelCase(snake, noOpaqueFields)).toEqual(camel);
});

it("changes no name that has no way back", () => {
  const value = { page_2: 1, "$.userName": 2, "$.user_name": 3, A0: 4, __proto: 5, URL: 6 };
  expect(toSnakeCase(value, noOpaqueFields)).toEqual(value);
  expect(toCamelCase(value, noOpaqueFields)).toEqual(value);
});

it("does not change what is inside an opaque field, in either direction", () => {
  const opaque = opaqueFields(["input_schema", "arguments"]);
  const camel = { inputSchema: { maxLength: 1 }, toolCalls: [{ arguments: { userId: 1, user_id: 2 } }] };
  const snake = { input_schema: { maxLength: 1 }, tool_calls: [{ arguments: { userId: 1, user_id: 2 } }] };
  expect(toSnakeCase(camel, opaque)).toEqual(snake);
  expect(toCamelCase(snake, opaque)).toEqual(camel);
});

it("converts the values of a map but not its keys", () => {
  const opaque = opaqueFields(["servers.*", "servers.*.tools.*"]);
  const camel = {
    servers: { myServer: { callTimeoutMs: 1, tools: { readFile: { isOpen: true } } } },
    tools: { aB: 1 },
  };
  expect(toSnakeCase(camel, opaque)).toEqual({
    servers: { myServer: { call_timeout_ms: 1, tools: { readFile: { is_open: true } } } },
    tools: { a_b: 1 },
  });
});

it("applies a narrowed field only behind the names before it", () => {
  const opaque = opaqueFields(["call.arguments"]);
  expect(toSnakeCase({ call: { arguments: { aB: 1 } }, rule: { arguments: { aB: 1 } } }, opaque)).toEqual({
    call: { arguments: { aB: 1 } },
    rule: { arguments: { a_b: 1 } },
  });
});

it("leaves out undefined fields, keeps live objects and own `__proto__` keys", () => {
  const date = new Date(0);
  const parsed: unknown = JSON.parse('{"__proto__": {"isAdmin": true}}');
  expect(toSnakeCase({ aB: undefined, startedAt: date }, noOpaqueFields)).toEqual({ started_at: date });
  const converted = toSnakeCase(parsed, noOpaqueFields) as object;
  expect(Object.getPrototypeOf(converted)).toBe(Object.prototype);
  expect(JSON.stringify(converted)).toBe('{"__proto__":{"is_admin":true}}');
});

it("refuses the same field in both cases", () => {
  expect(() => toSnakeCase({ oneOf: 1, one_of: 2 }, noOpaqueFields)).toThrow(
    expect.objectContaining({ code: "request_invalid", message: expect.stringContaining("`one_of`") }),
  );
});

it.each(["page_2", "Page", "_page", "page_", "pageTwo", "a__b", ""])("refuses `%s` in a schema", (name) => {
  const unfit = { code: "request_invalid", message: expect.stringContaining("has no camelCase name") };
  expect(() => assertConvertible([name])).toThrow(expect.objectContaining(unfit));
  expect(() => opaqueFields([name])).toThrow(expect.objectContaining(unfit));
});

it("infers the converted type", () => {
  const opaque = opaqueFields(["input_schema"]);
  const snake = { call_id: 1, input_schema: { max_length: 1 }, calls: [{ tool_name: "a" }] };
  expectTypeOf(toCamelCase(snake, opaque)).toEqualTypeOf<{
    readonly callId: number;
    readonly inputSchema: { max_length: number };
    readonly calls: readonly { readonly toolName: string }[];
  }>();
  expectTypeOf(toSnakeCase({ A0: { callId: 1 } }, opaque)).toEqualTypeOf<{
    readonly A0: { readonly call_id: number };
  }>();
});
