import type { JsonObject } from "@postern/core";
import { expect, it } from "vitest";
import { takesText, wantedAt } from "./reference-schemas.ts";

const binary = { type: "string", contentEncoding: "BASE64" };
const reference = { type: "object", properties: { $artifact: { type: "string" } } };

function objectOf(file: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "object", properties: { file }, ...more };
}

it.each<[string, JsonObject, (string | number)[], string]>([
  ["a property", objectOf(binary), ["file"], "base64"],
  ["a property that is not listed", { additionalProperties: binary }, ["file"], "base64"],
  ["a property that no schema describes", objectOf(binary), ["other"], "text"],
  ["a name that every object has", objectOf(binary), ["constructor"], "text"],
  ["an item", objectOf({ items: binary }), ["file", 0], "base64"],
  ["an item by its place", objectOf({ prefixItems: [{}, binary] }), ["file", 1], "base64"],
  ["an item after those with a place", objectOf({ prefixItems: [binary], items: reference }), ["file", 1], "reference"],
  ["a choice", objectOf({ oneOf: [{ type: "null" }, reference] }), ["file"], "reference"],
  ["a part of several", objectOf({ allOf: [{}, binary] }), ["file"], "base64"],
  ["a definition", objectOf({ $ref: "#/$defs/a~1b%20c" }, { $defs: { "a/b c": binary } }), ["file"], "base64"],
  ["a definition that is missing", objectOf({ $ref: "#/$defs/none" }, { $defs: {} }), ["file"], "text"],
  ["a definition of another document", objectOf({ $ref: "https://example.org/a" }), ["file"], "text"],
  ["a definition that is no text", objectOf({ $ref: 5 }), ["file"], "text"],
  ["a schema that leads to itself", objectOf({ $ref: "#/properties/file" }), ["file"], "text"],
  ["true", { properties: { file: true } }, ["file"], "text"],
])("knows what %s takes in the place of an artifact", (_what, schema, path, wants) => {
  expect(wantedAt(schema, path)).toBe(wants);
});

it.each<[string, JsonObject, boolean]>([
  ["any text", { type: "string" }, true],
  ["anything", {}, true],
  ["a text or nothing", { type: ["string", "null"], title: "File" }, true],
  ["a text of this length", { type: "string", minLength: 4, maxLength: 4 }, true],
  ["a longer text", { type: "string", minLength: 5 }, false],
  ["a shorter text", { type: "string", maxLength: 3 }, false],
  ["a text of a form", { type: "string", pattern: "^t" }, false],
  ["a number", { type: "number" }, false],
])("says whether %s is looked into", (_what, body, isTaken) => {
  expect(takesText(objectOf(body), ["file"], "text")).toBe(isTaken);
});

it("does not take a text where no schema says what is there", () => {
  expect(takesText({ type: "object" }, ["file"], "text")).toBe(false);
});
