import fc from "fast-check";
import { expect, it } from "vitest";
import { cut, cutMiddle, fits } from "./cut.ts";

it("cuts on a code point, the mark included in the limit (C21)", () => {
  expect(cut("abcdef", 6)).toBe("abcdef");
  expect(cut("abcdef", 5)).toBe("ab…");
  expect(cut("💡💡💡", 11)).toBe("💡💡…");
  expect(cut("💡💡💡", 10)).toBe("💡…");
  expect(cut("💡", 3)).toBe("…");
  expect(cut("💡", 2)).toBe("");
  expect(cut("€€€", 6)).toBe("€…");
});

it("is the text itself, or well-formed, a beginning of it and within the limit", async () => {
  await fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(60), (text, limitBytes) => {
      const head = cut(text, limitBytes);
      expect(Buffer.byteLength(head)).toBeLessThanOrEqual(limitBytes);
      expect(head.isWellFormed()).toBe(true);
      expect(fits(text, limitBytes)).toBe(Buffer.byteLength(text) <= limitBytes);
      if (head !== text) expect(text.startsWith(head.replace(/…$/, ""))).toBe(true);
    }),
  );
});

it("of a log the beginning and the last lines are left", async () => {
  expect(cutMiddle("one\ntwo\nthree", 13)).toBe("one\ntwo\nthree");
  expect(cutMiddle("one\ntwo\nthree\nfour\nfive", 20)).toBe("one\ntwo…\nfour\nfive");
  expect(cutMiddle("aaaaaaaaaaaaaaaaaa€z", 10)).toBe("aa…a€z");
  await fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(60), (text, limitBytes) => {
      const short = cutMiddle(text, limitBytes);
      expect(Buffer.byteLength(short)).toBeLessThanOrEqual(limitBytes);
      expect(short.isWellFormed()).toBe(true);
    }),
  );
});
