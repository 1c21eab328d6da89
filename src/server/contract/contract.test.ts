import { describe, expect, it } from "vitest";
import { type ZodType, z } from "zod";
import { contract } from "./contract.ts";
import { jsonObject } from "./fields.ts";
import { fieldsOf, partsOf, type RouteDefinition, type RouteGroup, shape, toContractNames, toFields } from "./route.ts";

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

describe("names of fields", () => {
  const row = z.object({ row_id: z.string(), data: jsonObject, p50_ms: z.number().optional() });
  const either = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("a"), first_row: row }),
    z.object({ kind: z.literal("b"), other_rows: z.array(row) }),
  ]);
  const data = { itsOwnName: { andDeeper: 1 } };

  it("are those of the contract in an answer, also in lists and options", () => {
    expect(shape(either, { kind: "b", otherRows: [{ rowId: "r", data, p50Ms: 1 }] })).toEqual({
      kind: "b",
      other_rows: [{ row_id: "r", data, p50_ms: 1 }],
    });
    expect(shape(either, { kind: "a", first_row: { rowId: "r", data } })).toEqual({
      kind: "a",
      first_row: { row_id: "r", data },
    });
  });

  it("are in camelCase for a handler, and those of data stay", () => {
    expect(toFields(either, { kind: "a", first_row: { row_id: "r", data } })).toEqual({
      kind: "a",
      firstRow: { rowId: "r", data },
    });
  });

  it("that the contract has not are left out", () => {
    const surplus = { rowId: "r", data, tokenHash: "x", row_hash: "x" };
    expect(toContractNames(row, surplus)).toEqual({ row_id: "r", data });
  });
});
