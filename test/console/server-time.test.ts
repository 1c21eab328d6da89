import { describe, expect, it } from "vitest";
import { correction, narrowed } from "../../console/src/api/server-time.ts";

const nothing = { least: -Infinity, most: Infinity };

describe("the server's time in the page", () => {
  it("is the time of the local clock while that can be right", () => {
    expect(correction(nothing)).toBe(0);
    expect(correction({ least: -900, most: 140 })).toBe(0);
  });

  it("is corrected by the least amount that explains all answers", () => {
    const hours = 7_200_000;
    const ahead = { least: -hours - 400, most: -hours + 600 };
    expect(correction(narrowed(nothing, ahead))).toBe(-hours + 600);
    const closer = narrowed(ahead, { least: -hours - 900, most: -hours + 100 });
    expect(closer).toEqual({ least: -hours - 400, most: -hours + 100 });
    expect(correction({ least: hours, most: hours + 1_000 })).toBe(hours);
  });

  it("drops older answers after a clock was set", () => {
    const later = { least: 59_500, most: 60_500 };
    expect(narrowed({ least: -200, most: 300 }, later)).toEqual(later);
  });
});
