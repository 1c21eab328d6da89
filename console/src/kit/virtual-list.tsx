import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useCallback, useEffect, useRef } from "react";
import { classNames } from "./class-names.ts";

/** Rows drawn above and below what is in sight. */
const overscan = 8;

type VirtualListProps<Row> = Readonly<{
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  row: (row: Row, at: number) => ReactNode;
  /** Pixels, until a row is measured. */
  estimate?: number;
  /** The index of the row to keep in sight. */
  selected?: number | undefined;
  /** Called when the end comes near. */
  onEnd?: (() => void) | undefined;
  label: string;
  after?: ReactNode;
  /** A heading stays at the top while its rows are in sight. */
  isHead?: (row: Row) => boolean;
}>;

/**
 * A list of any length: only what is in sight is in the page. It fills its parent, which needs a height. Rows that come
 * or go above do not move what is read; at the very top, new rows are shown.
 */
export function VirtualList<Row>(props: VirtualListProps<Row>): ReactNode {
  const { rows, keyOf, row, estimate = 64, selected = -1, onEnd, label, after, isHead } = props;
  const scroller = useRef<HTMLElement>(null);
  const headAt = (index: number): number =>
    isHead === undefined ? -1 : rows.findLastIndex((item, at) => at <= index && isHead(item));
  const keyAt = useCallback(
    (at: number): string => {
      const item = rows[at];
      return item === undefined ? "" : keyOf(item);
    },
    [rows, keyOf],
  );
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: keyAt,
    overscan,
    anchorTo: (scroller.current?.scrollTop ?? 0) > 0 ? "end" : "start",
    useFlushSync: false,
    scrollPaddingStart: isHead === undefined ? 0 : 48,
    rangeExtractor: (range: Range) => {
      const indexes = defaultRangeExtractor(range);
      const head = headAt(range.startIndex);
      return head === -1 || indexes.includes(head) ? indexes : [head, ...indexes];
    },
  });
  const drawn = list.getVirtualItems();
  const end = (drawn.at(-1)?.index ?? -1) + 1;
  useEffect(() => {
    if (end >= rows.length - 20) onEnd?.();
  }, [end, rows.length, onEnd]);
  const selectedKey = keyAt(selected);
  const latest = useRef(() => {});
  latest.current = () => list.scrollToIndex(selected, { align: "auto" });
  useEffect(() => {
    if (selectedKey !== "") latest.current();
  }, [selectedKey]);
  const [first, second] = drawn;
  const isHeadApart = first !== undefined && second !== undefined && second.index > first.index + 1;
  const from = isHeadApart ? second.start - first.size : (first?.start ?? 0);
  return (
    <section
      ref={scroller}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className={classNames(
        "h-full overflow-y-auto overscroll-contain [overflow-anchor:none]",
        isHead !== undefined && "scroll-pt-12", // what is tabbed to is not under a heading
      )}
    >
      <ul style={{ paddingTop: from, paddingBottom: list.getTotalSize() - (drawn.at(-1)?.end ?? 0) }}>
        {drawn.map(({ key, index }) => {
          const item = rows[index];
          if (item === undefined) return null;
          return (
            <li
              key={key}
              ref={list.measureElement}
              data-index={index}
              aria-setsize={rows.length}
              aria-posinset={index + 1}
              className={isHead?.(item) === true ? "sticky top-0 z-10" : undefined}
            >
              {row(item, index)}
            </li>
          );
        })}
      </ul>
      {after}
    </section>
  );
}
