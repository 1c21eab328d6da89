import { describe, expect, it } from "vitest";
import { coarse, counted, duration, relative } from "../../console/src/kit/format.ts";

const minute = 60_000;
const hour = 60 * minute;

describe("a duration", () => {
  it.each([
    [0, "<1 ms"],
    [999.7, "999 ms"],
    [1_000, "1.0 s"],
    [59_999, "59 s"],
    [minute, "1 min 00 s"],
    [hour - 1, "59 min 59 s"],
    [hour, "1 h 0 min"],
    [48 * hour - 1, "47 h 59 min"],
    [48 * hour, "2 d 0 h"],
  ])("of %d ms is %s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it("counts down by the minute until the last one", () => {
    expect([coarse(300_001), coarse(299_999), coarse(59_999), coarse(hour)]).toEqual([
      "5 min",
      "4 min",
      "59 s",
      "1 h 0 min",
    ]);
  });
});

describe("a time", () => {
  it("is now for a minute, then the greatest unit that is full, in both directions", () => {
    expect([0, 59_000, -59_000].map((ms) => relative(ms, 0))).toEqual(["now", "now", "now"]);
    expect([-60_000, -119_000, -7_199_000, 172_800_000].map((ms) => relative(ms, 0))).toEqual([
      "1m ago",
      "1m ago",
      "1h ago",
      "in 2d",
    ]);
  });
});

it("counts one, none and many", () => {
  expect([counted(1, "call"), counted(0, "call"), counted(12_345, "call")]).toEqual([
    "1 call",
    "0 calls",
    "12,345 calls",
  ]);
});
