import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anchorAt, placesOf, scrollFor, scrollInto } from "../../console/src/kit/row-places.ts";

const guessPx = 70;
/** Keys in an order, some of them measured. */
const list = fc
  .uniqueArray(
    fc.record({ key: fc.string({ minLength: 1, maxLength: 4 }), px: fc.option(fc.integer({ min: 1, max: 400 })) }),
    {
      selector: ({ key }) => key,
      maxLength: 60,
    },
  )
  .map((rows) => ({
    keys: rows.map(({ key }) => key),
    heights: new Map(rows.flatMap(({ key, px }) => (px === null ? [] : [[key, px] as const]))),
  }));

describe("the positions of the rows of a long list", () => {
  it("follow each other, each with its measured or estimated height", () => {
    void fc.assert(
      fc.property(list, ({ keys, heights }) => {
        const { top } = placesOf(keys, heights, guessPx);
        expect(top(0)).toBe(0);
        keys.forEach((key, at) => {
          expect(top(at + 1) - top(at)).toBe(heights.get(key) ?? guessPx);
        });
      }),
    );
  });

  it("give the row at every pixel, and the nearest one beyond both ends", () => {
    void fc.assert(
      fc.property(list, fc.integer({ min: -500, max: 30_000 }), ({ keys, heights }, px) => {
        const { rowAt, top } = placesOf(keys, heights, guessPx);
        const at = rowAt(px);
        if (keys.length === 0) expect(at).toBe(0);
        else if (px < 0) expect(at).toBe(0);
        else if (px >= top(keys.length)) expect(at).toBe(keys.length - 1);
        else expect(top(at) <= px && px < top(at + 1)).toBe(true);
      }),
    );
  });

  it("keep the visible row in place when rows above it come, go or grow", () => {
    void fc.assert(
      fc.property(list, list, fc.nat(5_000), (before, other, scrolled) => {
        fc.pre(before.keys.length > 0);
        const was = placesOf(before.keys, before.heights, guessPx);
        const scrolledPx = 1 + (scrolled % Math.max(1, was.top(before.keys.length) - 1));
        const anchor = anchorAt(was, scrolledPx);
        const key = anchor?.key ?? "";
        const fresh = other.keys.filter((one) => one !== key);
        const now = placesOf([...fresh, key], new Map([...before.heights, ...other.heights]), guessPx);
        const seenBefore = was.top(before.keys.indexOf(key)) - scrolledPx;
        expect(now.top(fresh.length) - scrollFor(now, anchor, scrolledPx)).toBe(seenBefore);
      }),
    );
  });

  it("keep the list at its top, and in place when the row is gone", () => {
    const places = placesOf(["new", "old"], new Map(), guessPx);
    expect(scrollFor(places, { key: "old", pastPx: 0 }, 0)).toBe(0);
    expect(scrollFor(places, { key: "gone", pastPx: 0 }, 90)).toBe(90);
    expect(scrollFor(places, undefined, 90)).toBe(90);
  });

  it("scroll to a selected row by the least distance", () => {
    const places = placesOf(["a", "b", "c", "d", "e"], new Map(), 100);
    expect(scrollInto(places, 1, { fromPx: 0, px: 250 })).toBe(0);
    expect(scrollInto(places, 2, { fromPx: 0, px: 250 })).toBe(50);
    expect(scrollInto(places, 4, { fromPx: 0, px: 250 })).toBe(250);
    expect(scrollInto(places, 0, { fromPx: 150, px: 250 })).toBe(0);
  });
});
