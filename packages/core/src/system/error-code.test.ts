import { expect, it } from "vitest";
import { isDamage } from "./error-code.ts";

const sqlite = (errcode: number): Error => Object.assign(new Error("of SQLite"), { errcode });

it.each([
  ["a torn page", sqlite(11), true],
  ["a torn index", sqlite(779), true],
  ["a file that is no database", sqlite(26), true],
  ["text that is none of ours", new SyntaxError("Unexpected token"), true],
  ["what a torn page caused", new Error("The store could not read", { cause: sqlite(11) }), true],
  ["a disk that fails", sqlite(10), false],
  ["a database that is locked", sqlite(5), false],
  ["what has no cause", new Error("disk I/O error"), false],
  ["what is no error", "malformed", false],
])("%s is damage, or not", (_, error, expected) => {
  expect(isDamage(error)).toBe(expected);
});
