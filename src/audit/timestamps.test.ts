import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Timestamps } from "./timestamps.ts";

describe("a timestamp", () => {
  it("is the text of Date for every millisecond", async () => {
    const timestamps = new Timestamps();
    await fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 8e12 }), (ms) => {
        expect(timestamps.spell(ms)).toBe(new Date(ms).toISOString());
        expect(timestamps.spell(ms + 1)).toBe(new Date(ms + 1).toISOString());
      }),
    );
  });
});
