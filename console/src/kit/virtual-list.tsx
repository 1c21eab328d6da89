import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type Anchor, anchorAt, placesOf, type RowPlaces, scrollFor, scrollInto } from "./row-places.ts";

/** Rows drawn beyond what is in sight, either way: what is scrolled to is there already. */
const beyond = 8;

/**
 * A list of any length: only what is in sight is in the page. Rows measure themselves.
 * Give it a height (it fills its parent); `onEnd` asks for more when the end comes near.
 */
export function VirtualList<Row>({
  rows,
  keyOf,
  row,
  estimate = 64,
  selected,
  onEnd,
  label,
  after,
}: {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly row: (row: Row, at: number) => ReactNode;
  /** Pixels. */
  readonly estimate?: number;
  /** Index to keep in sight. */
  readonly selected?: number | undefined;
  readonly onEnd?: (() => void) | undefined;
  readonly label: string;
  readonly after?: ReactNode;
}): ReactNode {
  const keys = useMemo(() => rows.map(keyOf), [rows, keyOf]);
  const { scroller, list, places, seen, look } = usePlaces(keys, estimate);
  const first = Math.max(0, places.rowAt(seen.fromPx) - beyond);
  const end = Math.min(rows.length, places.rowAt(seen.fromPx + seen.px) + beyond + 1);
  useSelected(scroller, places, selected);
  useEffect(() => {
    if (end >= rows.length - 20) onEnd?.();
  }, [end, rows.length, onEnd]);
  return (
    <section
      ref={scroller}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={look}
      className="h-full overflow-y-auto overscroll-contain [overflow-anchor:none]"
    >
      <ul
        ref={list}
        style={{ paddingTop: places.top(first), paddingBottom: places.top(rows.length) - places.top(end) }}
      >
        {rows.slice(first, end).map((item, i) => (
          <li key={keys[first + i]} data-row={keys[first + i]} aria-setsize={rows.length} aria-posinset={first + i + 1}>
            {row(item, first + i)}
          </li>
        ))}
      </ul>
      {after}
    </section>
  );
}

interface Seen {
  /** Scrolled so far. */
  readonly fromPx: number;
  /** The height of what is in sight. */
  readonly px: number;
}

interface Placed {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly list: RefObject<HTMLUListElement | null>;
  readonly places: RowPlaces;
  readonly seen: Seen;
  /** Where it is scrolled to. */
  readonly look: () => void;
}

/** Measures what is drawn, and keeps what one reads where it is when something above it comes, goes or grows. */
function usePlaces(keys: readonly string[], guessPx: number): Placed {
  const scroller = useRef<HTMLElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [heights, setHeights] = useState<{ readonly known: Map<string, number> }>(() => ({ known: new Map() }));
  const [seen, setSeen] = useState<Seen>({ fromPx: 0, px: 0 });
  const places = useMemo(() => placesOf(keys, heights.known, guessPx), [keys, heights, guessPx]);
  const anchor = useRef<Anchor>(undefined);
  const look = (): void => {
    const element = scroller.current;
    if (element === null) return;
    anchor.current = anchorAt(places, element.scrollTop);
    setSeen((was) =>
      was.fromPx === element.scrollTop && was.px === element.clientHeight
        ? was
        : { fromPx: element.scrollTop, px: element.clientHeight },
    );
  };
  const measure = (): void => {
    if (list.current !== null && measured(list.current, heights.known)) setHeights(({ known }) => ({ known }));
    look();
  };
  const latest = useRef(measure);
  useLayoutEffect(() => {
    latest.current = measure;
    const element = scroller.current;
    // Scrolled, but not told of it yet: then that is where one wants to be.
    if (element !== null && element.scrollTop === seen.fromPx)
      element.scrollTop = scrollFor(places, anchor.current, element.scrollTop);
    measure();
  });
  useEffect(() => {
    const observer = new ResizeObserver(() => latest.current());
    for (const { current } of [scroller, list]) if (current !== null) observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return { scroller, list, places, seen, look };
}

/** Whether a row is of another height than was known. */
function measured(list: HTMLUListElement, known: Map<string, number>): boolean {
  let isNew = false;
  for (const row of list.querySelectorAll<HTMLElement>(":scope > li")) {
    const { height } = row.getBoundingClientRect();
    const key = row.dataset["row"] ?? "";
    if (known.get(key) === height) continue;
    known.set(key, height);
    isNew = true;
  }
  return isNew;
}

/** Another row is chosen: it comes into sight. The same one stays wherever it was scrolled to. */
function useSelected(scroller: RefObject<HTMLElement | null>, places: RowPlaces, selected: number | undefined): void {
  const key = selected === undefined ? undefined : places.keys[selected];
  const latest = useRef({ places, selected });
  useLayoutEffect(() => {
    latest.current = { places, selected };
  });
  useEffect(() => {
    const element = scroller.current;
    const { places, selected } = latest.current;
    if (element === null || selected === undefined || key === undefined) return;
    const seen = { fromPx: element.scrollTop, px: element.clientHeight };
    element.scrollTop = scrollInto(places, selected, seen);
  }, [key, scroller]);
}
