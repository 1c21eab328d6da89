import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { classNames } from "./class-names.ts";
import { type Anchor, anchorAt, placesOf, type RowPlaces, scrollFor, scrollInto } from "./row-places.ts";

/** Rows drawn above and below what is in sight. */
const overscan = 8;

export interface VirtualListProps<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly row: (row: Row) => ReactNode;
  /** Pixels, until a row is measured. */
  readonly estimate: number;
  /** The index of the row to keep in sight. */
  readonly selected?: number | undefined;
  /** Called when the end comes near. */
  readonly onEnd?: (() => void) | undefined;
  readonly label: string;
  readonly after?: ReactNode;
  /** A heading stays at the top while its rows are in sight. */
  readonly isHead?: (row: Row) => boolean;
}

/**
 * A list of any length: only what is in sight is in the page. It fills its parent, which needs a height. Rows that come
 * or go above do not move what is read; at the very top, new rows are shown. It is our own code, because the virtual
 * list of TanStack adds 10 kB to the 150 kB of script that the page may load.
 */
export function VirtualList<Row>(props: VirtualListProps<Row>): ReactNode {
  const { rows, keyOf, row, estimate, selected, onEnd, label, after, isHead } = props;
  const keys = useMemo(() => rows.map(keyOf), [rows, keyOf]);
  const { scroller, list, places, seen, look } = usePlaces(keys, estimate);
  const first = Math.max(0, places.rowAt(seen.fromPx) - overscan);
  const end = Math.min(rows.length, places.rowAt(seen.fromPx + seen.px) + overscan + 1);
  const head =
    isHead === undefined ? -1 : rows.findLastIndex((item, at) => at <= places.rowAt(seen.fromPx) && isHead(item));
  const drawn = Array.from({ length: end - first }, (_, i) => first + i);
  if (head !== -1 && head < first) drawn.unshift(head);
  const headPx = head === -1 ? 0 : places.top(head + 1) - places.top(head);
  useSelected(scroller, { places, at: selected, headPx });
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
      className={classNames(
        "h-full overflow-y-auto overscroll-contain [overflow-anchor:none]",
        isHead !== undefined && "scroll-pt-12", // what is tabbed to is not under a heading
      )}
    >
      <ul
        ref={list}
        style={{
          paddingTop: places.top(first) - (drawn[0] === head && head < first ? headPx : 0),
          paddingBottom: places.top(rows.length) - places.top(end),
        }}
      >
        {drawn.map((at) => {
          const item = rows[at];
          if (item === undefined) return null;
          return (
            <li
              key={keys[at]}
              data-row={keys[at]}
              aria-setsize={rows.length}
              aria-posinset={at + 1}
              className={isHead?.(item) === true ? "sticky top-0 z-10" : undefined}
            >
              {row(item)}
            </li>
          );
        })}
      </ul>
      {after}
    </section>
  );
}

/** Measures the drawn rows, and keeps the visible row in place when rows above it come, go or grow. */
function usePlaces(keys: readonly string[], guessPx: number) {
  const scroller = useRef<HTMLElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [heights, setHeights] = useState<{ readonly known: Map<string, number> }>(() => ({ known: new Map() }));
  /** The scrolled position and the visible height. */
  const [seen, setSeen] = useState({ fromPx: 0, px: 0 });
  const places = useMemo(() => placesOf(keys, heights.known, guessPx), [keys, heights, guessPx]);
  const anchor = useRef<Anchor>(undefined);
  /** Reads the scrolled position. */
  const look = (): void => {
    const element = scroller.current;
    if (element === null) return;
    // Read once: the list may be scrolled before the state is made.
    const { scrollTop: fromPx, clientHeight: px } = element;
    anchor.current = anchorAt(places, fromPx);
    setSeen((was) => (was.fromPx === fromPx && was.px === px ? was : { fromPx, px }));
  };
  const measure = (): void => {
    if (list.current !== null && measured(list.current, heights.known)) setHeights(({ known }) => ({ known }));
    look();
  };
  const latest = useRef(measure);
  useLayoutEffect(() => {
    latest.current = measure;
    const element = scroller.current;
    // A scroll without its event yet is not undone.
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

/** Whether a row has a new height. */
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

interface Selected {
  readonly places: RowPlaces;
  readonly at: number | undefined;
  /** Height of the heading at the top. */
  readonly headPx: number;
}

/** Scrolls a newly selected row into sight. */
function useSelected(scroller: RefObject<HTMLElement | null>, selected: Selected): void {
  const key = selected.at === undefined ? undefined : selected.places.keys[selected.at];
  const latest = useRef(selected);
  useLayoutEffect(() => {
    latest.current = selected;
  });
  useEffect(() => {
    const element = scroller.current;
    const { places, at, headPx } = latest.current;
    if (element === null || at === undefined || key === undefined) return;
    const seen = { fromPx: element.scrollTop + headPx, px: element.clientHeight - headPx };
    const to = scrollInto(places, at, seen);
    if (to !== seen.fromPx) element.scrollTop = to - headPx;
  }, [key, scroller]);
}
