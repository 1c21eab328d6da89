import { expect, it } from "vitest";
import { batchColumns } from "../../console/src/screens/approvals/batch-columns.ts";

it("shows arguments that are equal once, and the others as columns", () => {
  const all = [
    { to: "ada", subject: "Invoice", meta: { a: 1, b: [2] } },
    { subject: "Invoice", to: "bob", meta: { b: [2], a: 1 } },
  ];
  expect(batchColumns(all)).toEqual({ shared: { subject: "Invoice", meta: { a: 1, b: [2] } }, differing: ["to"] });
});

it("takes a missing argument, null, a number and its text for different values", () => {
  expect(
    batchColumns([
      { a: 1, b: null, c: 1 },
      { a: "1", c: 1 },
    ]),
  ).toEqual({
    shared: { c: 1 },
    differing: ["a", "b"],
  });
});

it("takes any name of an argument", () => {
  const one = JSON.parse('{"__proto__": 1, "constructor": 2, "only": 3}');
  const other = JSON.parse('{"__proto__": 1, "constructor": 3}');
  const { shared, differing } = batchColumns([one, other]);
  expect(JSON.stringify(shared)).toBe('{"__proto__":1}');
  expect(differing).toEqual(["constructor", "only"]);
});

it("shows the arguments of a single request as shared", () => {
  expect(batchColumns([{ a: 1 }])).toEqual({ shared: { a: 1 }, differing: [] });
  expect(batchColumns([])).toEqual({ shared: {}, differing: [] });
});
