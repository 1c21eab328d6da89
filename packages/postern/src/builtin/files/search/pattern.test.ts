import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { finderOf, pathMatcher } from "./pattern.ts";

const grep = (pattern: string, more: { literal?: boolean; ignoreCase?: boolean } = {}): ReturnType<typeof finderOf> =>
  finderOf({
    ...{ kind: "grep", files: undefined, share: { number: 0, of: 1 }, literal: false, ignoreCase: false },
    pattern,
    ...more,
  });

describe("a pattern", () => {
  it("is found in the text if it is in a line of it (20,000 texts)", async () => {
    const piece = fc.constantFrom(
      "a",
      "B",
      "^",
      "$",
      ".",
      "\\b",
      "\\B",
      "\\s",
      "[^a]",
      "(a|b)",
      "a*",
      "\\A",
      "\\z",
      "(?-m)",
      "(?i)",
      "\\d",
      "é",
    );
    const pattern = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(""));
    const line = fc.string({ unit: fc.constantFrom("a", "b", "B", " ", "1", "é"), maxLength: 6 });
    await fc.assert(
      fc.property(pattern, fc.array(line, { maxLength: 5 }), fc.boolean(), (source, lines, ignoreCase) => {
        const finder = grep(source, { ignoreCase });
        if (lines.some((one) => finder.holds(one))) expect(finder.mayHold(lines.join("\n"))).toBe(true);
      }),
      { numRuns: 20_000 },
    );
  });

  it("finds only itself if it is literal", async () => {
    await fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (text, around) => {
        expect(grep(text, { literal: true }).holds(around + text + around)).toBe(true);
        expect(grep(text, { literal: true }).holds(around)).toBe(around.includes(text));
      }),
    );
    expect(grep("a.c", { literal: true }).holds("abc")).toBe(false);
    expect(grep("STRASSE", { ignoreCase: true }).holds("strasse")).toBe(true);
    expect(grep("ÄÖ", { ignoreCase: true }).holds("äö")).toBe(true);
  });

  it("accepts JavaScript's characters and named groups", () => {
    expect(grep("\\u00e9+").holds("é")).toBe(true);
    expect(grep("\\u{1F600}.").holds("😀!")).toBe(true);
    expect(grep("\\\\u00e9").holds("\\u00e9")).toBe(true);
    expect(grep("(?<year>\\d{4})").holds("2026")).toBe(true);
  });
});

describe("a glob", () => {
  it.each([
    ["*.ts", ["a.ts", ".ts"], ["a.tsx", "b/a.ts", "ts"]],
    ["**/*.ts", ["a.ts", "x/y/a.ts"], ["a.js"]],
    ["src/**", ["src/a", "src/a/b"], ["src", "lib/a"]],
    ["a/**/b", ["a/b", "a/x/y/b"], ["ab", "a/xb"]],
    ["{a,b}/?.md", ["a/x.md", "b/é.md"], ["c/x.md", "a/xx.md"]],
    ["[!a-c]x", ["dx", "éx"], ["ax", "/x"]],
    ["[]x]", ["]", "x"], ["a"]],
    ["a{b", ["a{b"], ["ab"]],
    ["a,b}", ["a,b}"], ["a"]],
    ["\\*", ["*"], ["a"]],
    ["(a+)$", ["(a+)$"], ["a"]],
    ["a**b", ["axxb"], ["a/b"]],
  ] as const)("`%s`", (glob, fits, not) => {
    const matches = pathMatcher(glob);
    expect([fits.filter(matches), not.filter(matches)]).toEqual([fits, []]);
  });

  it("accepts any text or refuses it with a reason, at once", async () => {
    const unit = fc.constantFrom("*", "?", "[", "]", "{", "}", ",", "\\", "!", "^", "-", "/", "a", "(", "|", "é");
    await fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (glob) => {
        try {
          pathMatcher(glob)("a/".repeat(500));
        } catch (error) {
          expect(error).toMatchObject({ reason: "pattern_invalid" });
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
