import { expect, it } from "vitest";
import { corpus } from "../../../../../test/fakes/corpus.ts";
import { unicodePattern } from "./unicode-pattern.ts";

it.each([
  ["^[a-z]+$", "^[a-z]+$"],
  ["(?<=a)(?<year>\\d{4})\\k<year>\\p{L}", "(?<=a)(?<year>\\d{4})\\k<year>\\p{L}"],
  ["\\-\\_\\@\\#\\'\\ ", "-_@#' "],
  ["[\\w-.]", "[\\w\\-.]"],
  ["[a-\\d]", "[a\\-\\d]"],
  ["[\\w\\-\\_]", "[\\w\\-_]"],
  ["a{x{,5}]", "a\\{x\\{,5\\}\\]"],
  ["a{2,3}\\-", "a{2,3}-"],
  ["\\012[\\1]", "\\x0a[\\x01]"],
  ["(a)\\1\\2", "(a)\\1\\x02"],
  ["\\c\\u12\\x1", "\\\\cu12x1"],
])("writes %s for the `u` flag", (pattern, written) => {
  expect(unicodePattern(pattern)).toBe(written);
  expect(() => new RegExp(written, "u")).not.toThrow();
});

it.each(["(", "[z-a]", "*a", "a{2,1}"])("finds that %s is no regular expression", (pattern) => {
  expect(unicodePattern(pattern)).toBeUndefined();
});

const published = corpus<{ readonly re: string }>("redos/regexlib_js.dev.json");

it.skipIf(published.length === 0)("writes published patterns so that they match the same short texts", () => {
  const texts = ["", "a", "A-1", "2026-11-26", "a@b.example", "_", "https://x.example/?q=1", "{}", "\\", "12.5 %"];
  const plain = published.map(({ re }) => re).filter((re) => unicodePattern(re) !== undefined);
  expect(plain.length).toBeGreaterThan(200);
  const answers = (re: string, flags: string): readonly boolean[] =>
    texts.map((text) => new RegExp(re, flags).test(text));
  expect(plain.filter((re) => `${answers(re, "")}` !== `${answers(unicodePattern(re) ?? "", "u")}`)).toEqual([]);
});
