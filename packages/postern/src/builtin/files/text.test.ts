import fc from "fast-check";
import { expect, it } from "vitest";
import { textFound } from "./encoding.ts";
import { textIn } from "./text.ts";

it("reads the parts of a text that is cut anywhere", async () => {
  await fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(), (raw, at) => {
      const text = raw.replaceAll("\0", "");
      const bytes = Buffer.from(text);
      const cut = bytes.length === 0 ? 0 : at % bytes.length;
      const head = textIn(bytes.subarray(0, cut), { before: false, after: true });
      const rest = textIn(bytes.subarray(head?.end), { before: false, after: false });
      expect([head?.text, rest?.text].join("")).toBe(text);
    }),
    { numRuns: 5_000 },
  );
});

it("refuses bytes that are no text or hold a NUL", () => {
  expect(textFound(Buffer.from([0x66, 0xfc, 0x72]))).toBeUndefined();
  expect(textFound(Buffer.from("a\0b"))).toBeUndefined();
  expect(textFound(Buffer.from([0xc3]))).toBeUndefined();
  expect(textFound(Buffer.from("é"))).toBe("é");
});
