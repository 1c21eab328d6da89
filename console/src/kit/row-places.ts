/**
 * Where each row of a long list begins: as it was measured where it has been in sight, as it is guessed elsewhere.
 *
 * Invariant: rows lie one after the other without a gap, in their order, and no row is higher than it was measured.
 */
export interface RowPlaces {
  readonly keys: readonly string[];
  /** Pixels, from the first row's beginning; of the row after the last one it is the whole height. */
  readonly top: (at: number) => number;
  /** The row that is drawn there; the nearest where none is. */
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

/** What stays where it is while rows come and go above it: a row, and how far it is scrolled past its beginning. */
export interface Anchor {
  readonly key: string;
  readonly pastPx: number;
}

export function anchorAt({ keys, top, rowAt }: RowPlaces, scrolledPx: number): Anchor | undefined {
  const at = rowAt(scrolledPx);
  const key = keys[at];
  return key === undefined ? undefined : { key, pastPx: scrolledPx - top(at) };
}

/** How far to scroll so that it stands where it stood; at the very top one stays at the top, and sees what is new. */
export function scrollFor({ keys, top }: RowPlaces, anchor: Anchor | undefined, scrolledPx: number): number {
  if (anchor === undefined || scrolledPx <= 0) return scrolledPx;
  const at = keys.indexOf(anchor.key);
  return at === -1 ? scrolledPx : top(at) + anchor.pastPx;
}

/** How far to scroll so that a row is in sight, and no further. */
export function scrollInto(
  { top }: RowPlaces,
  at: number,
  seen: { readonly fromPx: number; readonly px: number },
): number {
  const { fromPx, px } = seen;
  if (top(at) < fromPx) return top(at);
  return top(at + 1) > fromPx + px ? top(at + 1) - px : fromPx;
}
