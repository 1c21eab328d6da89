import { describe, expect, it } from "vitest";
import { hunks } from "../../console/src/kit/hunks.ts";

const lines = (count: number): string[] => Array.from({ length: count }, (_, at) => `line ${at}`);

describe("what an edit changed", () => {
  it("is found in a text of any length, with a few lines around it and its line number", () => {
    const before = lines(200_000);
    const after = before.with(150_000, "another");
    expect(hunks(before.join("\n"), after.join("\n")).split("\n")).toEqual([
      "@@ line 149998 @@",
      " line 149997",
      " line 149998",
      " line 149999",
      "-line 150000",
      "+another",
      " line 150001",
      " line 150002",
      " line 150003",
    ]);
  });

  it("has the line numbers of the file that holds the text", () => {
    expect(hunks("a\nb", "a\nc", 12).split("\n")).toEqual(["@@ line 12 @@", " a", "-b", "+c"]);
    expect(hunks("a", "b", 12).split("\n")[0]).toBe("@@ line 12 @@");
  });

  it("is empty for equal texts", () => {
    expect(hunks("a\nb", "a\nb")).toBe("");
  });

  it("shows lines added and removed at either end", () => {
    expect(hunks("b", "a\nb\nc").split("\n")).toEqual(["@@ line 1 @@", "+a", " b", "+c"]);
    expect(hunks("a\nb\nb", "a\nb").split("\n")).toEqual(["@@ line 1 @@", " a", " b", "-b"]);
  });
});
