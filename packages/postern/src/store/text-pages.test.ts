import fc from "fast-check";
import { expect, it } from "vitest";
import { TextPages } from "./text-pages.ts";

it("gives each text back, whatever its size and its letters", async () => {
  const anyText = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc
      .tuple(fc.constantFrom("a", "é", "漢", "😀"), fc.integer({ min: 0, max: 70_000 }))
      .map(([one, times]) => one.repeat(times)),
    fc.constantFrom("", "a".repeat(64 * 1024), "漢".repeat(64 * 1024)), // nothing, and just the bytes of pages
  );
  const same = fc.property(fc.array(anyText, { maxLength: 40 }), (texts) => {
    const pages = new TextPages();
    for (const text of texts) pages.add(text);
    expect(texts.map((_, i) => pages.at(i))).toEqual(texts);
    for (const missing of [-1, texts.length, 0.5]) expect(pages.at(missing)).toBeUndefined();
  });
  await fc.assert(same, { numRuns: 100, examples: [[[""]], [["a".repeat(64 * 1024), "", "", "b"]]] });
});
