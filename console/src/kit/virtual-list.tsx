import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";

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
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: (at) => {
      const found = rows[at];
      return found === undefined ? at : keyOf(found);
    },
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (selected !== undefined && selected >= 0) virtual.scrollToIndex(selected, { align: "auto" });
  }, [selected, virtual]);
  useEffect(() => {
    if (last >= rows.length - 20) onEnd?.();
  }, [last, rows.length, onEnd]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section ref={scroller} aria-label={label} tabIndex={0} className="h-full overflow-y-auto overscroll-contain">
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const found = rows[item.index];
          return (
            <li
              key={item.key}
              data-index={item.index}
              ref={virtual.measureElement}
              aria-setsize={rows.length}
              aria-posinset={item.index + 1}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {found !== undefined && row(found, item.index)}
            </li>
          );
        })}
      </ul>
      {after}
    </section>
  );
}
