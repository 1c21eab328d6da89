import { describe, expect, it } from "vitest";
import { correction, narrowed } from "../../console/src/api/server-time.ts";

const nothing = { least: -Infinity, most: Infinity };

describe("the server's time, as the page knows it", () => {
  it("is the clock's own where that can be right", () => {
    expect(correction(nothing)).toBe(0);
    expect(correction({ least: -900, most: 140 })).toBe(0);
  });

  it("is put right by as little as explains the answers, and by no more as they narrow it down", () => {
    const hours = 7_200_000;
    const ahead = { least: -hours - 400, most: -hours + 600 };
    expect(correction(narrowed(nothing, ahead))).toBe(-hours + 600);
    const closer = narrowed(ahead, { least: -hours - 900, most: -hours + 100 });
    expect(closer).toEqual({ least: -hours - 400, most: -hours + 100 });
    expect(correction({ least: hours, most: hours + 1_000 })).toBe(hours);
  });

  it("forgets what it knew when a clock was set since", () => {
    const later = { least: 59_500, most: 60_500 };
    expect(narrowed({ least: -200, most: 300 }, later)).toEqual(later);
  });
});
