import type { Json, JsonObject } from "@postern/core";
import { expect, it } from "vitest";
import { withoutAbsent } from "./absent.ts";

const text = { type: "string" };
const object = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
});
const node = object({ value: text, next: { $ref: "#/$defs/node" } }, ["value"]);
const shapes = {
  oneOf: [
    object({ kind: { const: "circle" }, radius: { type: "number" }, unit: text }, ["kind", "radius"]),
    object({ kind: { const: "square" }, unit: { type: ["string", "null"] } }, ["kind"]),
  ],
};

it.each<[string, JsonObject, JsonObject, JsonObject]>([
  ["an optional member", object({ q: text, limit: { type: "integer" } }, ["q"]), { q: "a", limit: null }, { q: "a" }],
  [
    "a member of an object in a list",
    object({ all: { items: object({ a: text }) } }),
    { all: [{ a: null }] },
    { all: [{}] },
  ],
  [
    "a member behind references",
    { ...node, $defs: { node } },
    { value: "a", next: { value: "b", next: null } },
    { value: "a", next: { value: "b" } },
  ],
  ["a member of an enum", object({ a: { enum: ["x"] } }), { a: null }, {}],
  ["a member of a choice without null", object({ a: { anyOf: [text, { type: "number" }] } }), { a: null }, {}],
  [
    "a member of all parts together",
    { allOf: [object({ a: text }), object({ b: text }, ["b"])] },
    { a: null, b: "x" },
    { b: "x" },
  ],
  [
    "a member whose form is told by a constant",
    shapes,
    { kind: "circle", radius: 1, unit: null },
    { kind: "circle", radius: 1 },
  ],
  [
    "a member of all forms that are left",
    { anyOf: [object({ a: text }, ["b"]), object({ a: text }, ["c"])] },
    { a: null, b: 1, c: 1 },
    { b: 1, c: 1 },
  ],
  [
    "a member that another form requires",
    { properties: { a: text, b: text }, anyOf: [object({ a: text }, ["a"]), object({ b: text }, ["b"])] },
    { a: "x", b: null },
    { a: "x" },
  ],
  ["a member of any name", { additionalProperties: text }, { a: null, b: "x" }, { b: "x" }],
])("removes null for %s", (_what, schema, given, shorter) => {
  expect(withoutAbsent(given, schema)).toEqual(shorter);
});

it.each<[string, JsonObject, JsonObject]>([
  ["a required member", object({ a: text }, ["a"]), { a: null }],
  ["a member that takes null", object({ a: { type: ["string", "null"] } }), { a: null }],
  ["a member that a choice lets be null", object({ a: { anyOf: [text, { type: "null" }] } }), { a: null }],
  ["a member that takes anything", object({ a: {} }), { a: null }],
  ["a member that is not known", { ...object({ a: text }), additionalProperties: false }, { typo: null }],
  ["an element of a list", object({ a: { type: "array", items: text } }), { a: ["x", null] }],
  ["a member whose form takes null", shapes, { kind: "square", unit: null }],
  [
    "a member that one of the forms left requires",
    { anyOf: [object({ a: { type: ["string", "null"] } }, ["a"]), object({ a: text })] },
    { a: null },
  ],
  ["a member that a part requires", { allOf: [object({ a: text }), { required: ["a"] }] }, { a: null }],
  [
    "a choice that refers to itself",
    { $defs: { x: { anyOf: [{ $ref: "#/$defs/x" }] } }, ...object({ a: { $ref: "#/$defs/x" } }) },
    { a: null },
  ],
])("keeps null for %s, and the same object", (_what, schema, given) => {
  expect(withoutAbsent(given, schema)).toBe(given);
});

it("keeps arguments that are too large to examine", () => {
  const many: Json = Array.from({ length: 200_000 }, () => ({ a: null }));
  const given = { all: many };
  expect(withoutAbsent(given, object({ all: { items: object({ a: text }) } }))).toBe(given);
});
