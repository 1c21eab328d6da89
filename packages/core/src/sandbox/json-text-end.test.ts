import fc from "fast-check";
import { expect, it } from "vitest";
import { textEnd } from "./json-text-end.ts";

/** The same, a byte at a time. */
function slowly(part: Buffer, from: number): number {
  let at = from;
  for (; at < part.length; at += 1) {
    if (part[at] === 0x22) return at;
    if (part[at] === 0x5c) at += 1;
  }
  return at;
}

it("a text ends at its first quote that no escape has taken, or where it goes on", async () => {
  const bytes = fc.array(fc.constantFrom(...Buffer.from('"\\\\a')), { maxLength: 12 });
  await fc.assert(
    fc.property(bytes, fc.nat({ max: 14 }), (given, from) => {
      const part = Buffer.from(given);
      expect(textEnd(part, from)).toBe(slowly(part, from));
    }),
    { numRuns: 5_000 },
  );
});
