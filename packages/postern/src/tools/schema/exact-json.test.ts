import { expect, it } from "vitest";
import { parseExactly } from "./exact-json.ts";

it.each([
  "9007199254740993",
  "-1915883588174806058",
  "18446744073709551615",
  "1915883588174806058.5",
  "0.1000000000000000055",
  "9007199254740993.0",
  "1e400",
  "-1E+999",
  "1e-400",
])("a double cannot hold %s: it becomes a text with the same digits", (number) => {
  expect(parseExactly(`{"a":[{"b":${number}}]}`)).toEqual({ value: { a: [{ b: number }] }, asText: ["a[].b"] });
});

it.each([
  "9007199254740991",
  "0.1",
  "0.30000000000000004",
  "1234567890.1234567",
  "1e23",
  "5e-324",
  "-0.0000000000000001",
  "1.50000000000000000000",
  "0.10000000000000000555",
])("%s is the number that JSON.parse makes of it", (number) => {
  expect(parseExactly(`[${number}]`)).toEqual({ value: [Number(number)], asText: [] });
});

it("names each place once, however many rows there are, and leaves texts alone", () => {
  const rows = Array.from({ length: 1_000 }, () => '{"id":1915883588174806058,"text":"1915883588174806058","n":1}');
  const { value, asText } = parseExactly(`{"rows":[${rows.join(",")}]}`);
  expect(asText).toEqual(["rows[].id"]);
  expect(value).toMatchObject({ rows: rows.map(() => ({ id: "1915883588174806058", n: 1 })) });
});

it("keeps a member called `__proto__` a member", () => {
  const { value } = parseExactly('{"__proto__":12345678901234567890}');
  expect(Object.entries(value as object)).toEqual([["__proto__", "12345678901234567890"]]);
});

it("refuses a text that is not JSON", () => {
  expect(() => parseExactly("[12345678901234567890,]")).toThrow(SyntaxError);
});
