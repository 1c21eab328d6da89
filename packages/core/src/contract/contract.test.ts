import { describe, expect, it } from "vitest";
import { type ZodType, z } from "zod";
import { contract } from "./contract.ts";
import { jsonObject } from "./fields.ts";
import { fieldsOf, partsOf, type RouteDefinition, type RouteGroup, shape } from "./route.ts";

const routes = Object.values<RouteGroup>(contract).flatMap((group): readonly RouteDefinition[] => Object.values(group));

/** Every field of a schema, also of the schemas inside it. */
function namesIn(schema: unknown): readonly string[] {
  if (typeof schema !== "object" || schema === null || !("_zod" in schema)) return [];
  const { def } = (schema as ZodType)._zod;
  const inner = Object.entries(def).flatMap(([name, part]) => {
    if (name !== "shape") return Array.isArray(part) ? part : [part];
    return Object.entries(part as object).flatMap(([field, one]) => (field === "annotations" ? [] : [one])); // MCP's own
  });
  return [...fieldsOf(schema as ZodType), ...inner.flatMap(namesIn)];
}

describe("the contract", () => {
  it("names every field in snake_case", () => {
    const names = routes.flatMap(({ path, query, body, answer }) => [
      ...partsOf(path),
      ...[query, body, answer].flatMap(namesIn),
    ]);
    expect(names).toContain("consecutive_errors");
    expect(names.filter((name) => !/^[a-z]+\d*(?:_[a-z]+)*$/.test(name))).toEqual([]);
  });

  it("has one route for a method and a path", () => {
    const named = routes.map(({ method, path }) => `${method} ${path}`);
    expect(named.filter((one, at) => named.indexOf(one) !== at)).toEqual([]);
  });
});

it("gives a client the fields of the contract alone, and leaves the names of data as they are", () => {
  const row = z.object({ row_id: z.string(), data: jsonObject });
  const data = { itsOwnName: { andDeeper: 1 } };
  const surplus = { row_id: "r", data, tokenHash: "x", row_hash: "x" };
  expect(shape(row, surplus)).toEqual({ row_id: "r", data });
});
