/**
 * Where each row of a long list begins: measured for rows that have been in sight, estimated for others.
 *
 * Invariant: rows follow each other in order, without gaps.
 */
export interface RowPlaces {
  readonly keys: readonly string[];
  /** Pixels from the first row; for the row after the last one, the whole height. */
  readonly top: (at: number) => number;
  /** The row at a position, or the nearest one. */
  readonly rowAt: (px: number) => number;
}

export function placesOf(
  keys: readonly string[],
  heights: { readonly get: (key: string) => number | undefined },
  guessPx: number,
): RowPlaces {
  const tops = new Float64Array(keys.length + 1);
  let px = 0;
  keys.forEach((key, at) => {
    px += heights.get(key) ?? guessPx;
    tops[at + 1] = px;
  });
  const last = keys.length - 1;
  const top = (at: number): number => tops[Math.min(Math.max(0, at), last + 1)] ?? 0;
  const rowAt = (wanted: number): number => {
    let [low, high] = [0, Math.max(0, last)];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (top(middle) <= wanted) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  return { keys, top, rowAt };
}

/** The row that stays in place, and how far the list is scrolled past its beginning. */
export interface Anchor {
  readonly key: string;
  readonly pastPx: number;
}

export function anchorAt({ keys, top, rowAt }: RowPlaces, scrolledPx: number): Anchor | undefined {
  const at = rowAt(scrolledPx);
  const key = keys[at];
  return key === undefined ? undefined : { key, pastPx: scrolledPx - top(at) };
}

/** The position that keeps the anchor in place. At the very top the list stays at the top and shows new rows. */
export function scrollFor({ keys, top }: RowPlaces, anchor: Anchor | undefined, scrolledPx: number): number {
  if (anchor === undefined || scrolledPx <= 0) return scrolledPx;
  const at = keys.indexOf(anchor.key);
  return at === -1 ? scrolledPx : top(at) + anchor.pastPx;
}

/** The nearest position that shows a row. */
export function scrollInto(
  { top }: RowPlaces,
  at: number,
  seen: { readonly fromPx: number; readonly px: number },
): number {
  const { fromPx, px } = seen;
  if (top(at) < fromPx) return top(at);
  return top(at + 1) > fromPx + px ? top(at + 1) - px : fromPx;
}
