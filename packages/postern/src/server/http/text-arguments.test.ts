import type { Json, JsonObject } from "@postern/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { createRedactor } from "../../secrets/redactor.ts";

const secret = "hunter2-hunter2-hunter2";
const execute = (given: unknown): string => JSON.stringify(given);
const plain = { risk: "safe", effects: "read", idempotent: true, execute } as const;
const text = { type: "string" } as const;

const schemas: Readonly<Record<string, JsonObject>> = {
  number: { type: "number" },
  integer: { type: "integer" },
  boolean: { type: "boolean" },
  text,
  short: { type: "string", maxLength: 3 },
  nullable: { type: ["integer", "null"] },
  textOrNull: { type: ["string", "null"] },
  either: { anyOf: [{ type: "integer" }, { type: "string", pattern: "^x" }] },
  listed: { enum: ["auto", 5] },
  list: { type: "array", items: text },
  object: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  anything: {},
};
const forms = {
  type: "object",
  oneOf: [
    { properties: { kind: { const: "id" }, id: text, size: { type: "integer" } }, required: ["kind", "id", "size"] },
    { properties: { kind: { const: "flag" }, flag: { type: "boolean" } }, required: ["kind", "flag"] },
  ],
} as const;

let inside: RuntimeFixture;
let http: HttpFixture;
beforeAll(async () => {
  const redactor = createRedactor();
  redactor.learn(secret);
  inside = await runtimeFixture({ redactor }, [
    { name: "typed", description: "One of each.", ...plain, input: { type: "object", properties: schemas } },
    {
      ...{ name: "map", description: "Numbers by name.", ...plain },
      input: { type: "object", additionalProperties: { type: "number" } },
    },
    { name: "closed", description: "No more.", ...plain, input: { type: "object", additionalProperties: false } },
    { name: "forms", description: "Two forms.", ...plain, input: forms },
    {
      ...{ name: "zod", description: "By zod.", ...plain },
      input: z.object({ count: z.number(), name: z.string(), tags: z.array(z.string()).optional() }),
    },
    {
      ...{ name: "order", description: "Orders.", ...plain, risk: "high", effects: "write", idempotent: false },
      input: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
    },
  ]);
  http = await httpFixture(inside.runtime);
});
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  await inside[Symbol.asyncDispose]();
});

type Fields = Readonly<Record<string, Json>>;
async function asked(path: string, body: Fields): Promise<Fields & { readonly http: number }> {
  const response = await http.ask(path, { as: "agent", body });
  return { ...((await response.json()) as Fields), http: response.status };
}
const call = (tool: string, texts: Fields, more: Fields = {}) =>
  asked("/v1/calls", { tool, text_arguments: texts, ...more });
const taken = async (tool: string, texts: Fields): Promise<unknown> => {
  const { text: answer, status } = await call(tool, texts);
  return status === "ok" ? JSON.parse(String(answer)) : answer;
};

describe("an argument that was typed as text", () => {
  it.each<[name: string, typed: string, value: Json]>([
    ["number", "1.5", 1.5],
    ["integer", "4", 4],
    ["boolean", "true", true],
    ["text", "4", "4"],
    ["text", "true", "true"],
    ["text", '{"a":1}', '{"a":1}'],
    ["text", "", ""],
    ["nullable", "null", null],
    ["nullable", "7", 7],
    ["textOrNull", "null", "null"],
    ["either", "5", 5],
    ["either", "x5", "x5"],
    ["listed", "auto", "auto"],
    ["listed", "5", 5],
    ["list", '["a","b"]', ["a", "b"]],
    ["object", '{"n":1}', { n: 1 }],
    ["anything", "5", "5"],
  ])("for `%s` %j is %j", async (name, typed, value) => {
    expect(await taken("typed", { [name]: typed })).toEqual({ [name]: value });
  });

  it.each<[name: string, typed: string, problem: string]>([
    ["integer", "four", "`integer`: expected integer, got string"],
    ["integer", "3.5", "`integer`: expected integer, got string"],
    ["integer", "null", "`integer`: expected integer, got string"],
    ["short", "12345", "`short`: expected maxLength 3"],
    ["list", "[1]", "`list[0]`: expected string, got number"],
    ["object", '{"n":', "`object`: expected object, got string"],
  ])("is refused by its name if it fits neither way: `%s` %j", async (name, typed, problem) => {
    const outcome = await call("typed", { [name]: typed });
    expect(outcome).toMatchObject({ http: 422, refusal: { code: "arguments_invalid" } });
    expect(outcome["text"]).toContain(problem);
  });

  it("may have a name that only `additionalProperties` describes", async () => {
    expect(await taken("map", { a: "1", b: "2e3" })).toEqual({ a: 1, b: 2000 });
    expect((await call("closed", { a: "1" }))["text"]).toContain("`a` is not a known argument");
  });

  it("is read where only the whole object has several forms", async () => {
    expect(await taken("forms", { kind: "flag", flag: "true" })).toEqual({ kind: "flag", flag: true });
    expect(await taken("forms", { kind: "id", id: "5", size: "5" })).toEqual({ kind: "id", id: "5", size: 5 });
    expect((await call("forms", { kind: "id", size: "5" }))["http"]).toBe(422);
  });

  it("is read by the author's own schema", async () => {
    expect(await taken("zod", { count: "4", name: "4", tags: '["4"]' })).toEqual({ count: 4, name: "4", tags: ["4"] });
    expect((await call("zod", { count: "many", name: "x" }))["text"]).toContain("`count`");
  });

  it("stands beside arguments in JSON, but not for the same name", async () => {
    const both = await call("typed", { integer: "4" }, { arguments: { text: "x", number: 1 } });
    expect(JSON.parse(String(both["text"]))).toEqual({ integer: 4, text: "x", number: 1 });
    const twice = await call("typed", { integer: "4" }, { arguments: { integer: 5 } });
    expect(twice).toMatchObject({ http: 422, error: { code: "request_invalid" } });
    expect(JSON.stringify(twice["error"])).toContain("integer");
    expect(await call("typed", { integer: 4 })).toMatchObject({ http: 422, error: { code: "request_invalid" } });
  });

  it("is one of at most 100 in a call: each may cost a check of the schema", async () => {
    const texts = (count: number): Fields =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, "1"]));
    expect(await taken("map", texts(100))).toMatchObject({ n0: 1, n99: 1 });
    const refused = await call("map", texts(101));
    expect(refused).toMatchObject({ http: 422, error: { code: "request_invalid" } });
    expect(JSON.stringify(refused["error"])).toContain("101 text arguments, and a call may have 100");
  });

  it("does not hide that the tool is unknown", async () => {
    expect(await call("nope", { a: "1" })).toMatchObject({ http: 404, refusal: { code: "tool_unknown" } });
  });

  it("is the same call as one with the value in JSON: one request, one digest, one record", async () => {
    const held = await call("order", { count: "4" });
    expect(held).toMatchObject({ http: 202, status: "pending" });
    const again = await asked("/v1/calls", { tool: "order", arguments: { count: 4 } });
    expect(again["approval_id"]).toBe(held["approval_id"]);
    const request = await inside.runtime.approvals.get(String(held["approval_id"]));
    expect(request?.arguments).toEqual({ count: 4 });
    const [record] = await inside.runtime.calls.list({ tool: "order" });
    expect(record?.call).toMatchObject({ text: '{"count":4}' });
    await inside.runtime.approvals.decide(String(held["approval_id"]), {
      decision: "approved",
      by: { user: "boss", via: "token:operator" },
    });
    expect(await call("order", { count: "4" })).toMatchObject({ status: "ok", text: '{"count":4}' });
    const events = await inside.runtime.audit.query({ callId: [record?.call.id ?? ""], limit: 100 });
    const hashes = events.map(({ request_hash: hash }) => hash).filter((hash) => hash !== undefined);
    expect(new Set(hashes)).toEqual(new Set([record?.call.digest]));
  });

  it("is explained as it would run, for the caller and for the operator", async () => {
    const body = { tool: "order", text_arguments: { count: "4" } };
    expect(await asked("/v1/explain", body)).toMatchObject({ reached: "verdict" });
    const response = await http.ask("/v1/policy/explain", { as: "operator", body });
    expect(await response.json()).toMatchObject({ reached: "verdict" });
  });

  it("that spells a secret with escapes of JSON is refused as the secret", async () => {
    const spelled = `["${secret.replaceAll("-", "\\u002d")}"]`;
    expect(await call("typed", { list: spelled })).toMatchObject({ refusal: { code: "secret_in_arguments" } });
  });
});

it("code may give text arguments too, and a denied call is recorded with what was read", async () => {
  const request = { tool: "order", textArguments: { count: "4" } };
  const outcome = await inside.runtime.invoke(request, { ...asker, patience: "deny" });
  expect(outcome.status).toBe("denied");
  const events = await inside.runtime.audit.query({ callId: [outcome.callId], limit: 10 });
  const same = await inside.runtime.invoke({ tool: "order", arguments: { count: 4 } }, { ...asker, patience: "deny" });
  const others = await inside.runtime.audit.query({ callId: [same.callId], limit: 10 });
  expect(events.at(-1)?.request_hash).toBe(others.at(-1)?.request_hash);
});
