import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import {
  createContext,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  use,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { classNames } from "./class-names.ts";

export interface VirtualListProps<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Its main control takes `useRowStop()`. */
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

interface RowStop {
  readonly tabIndex?: 0 | -1;
  readonly "data-stop"?: "";
}

const stops = { in: { tabIndex: 0, "data-stop": "" }, out: { tabIndex: -1, "data-stop": "" } } as const;
const RowStopContext = createContext<RowStop>({});

/** For the main control of a row: one row of the list is in the tab order, and arrow keys move from row to row. */
export function useRowStop(): RowStop {
  return use(RowStopContext);
}

/**
 * A list of any length: only what is in sight is in the page. It fills its parent, which needs a height. Rows that come
 * or go above do not move what is read; at the very top, new rows are shown.
 */
export function VirtualList<Row>(props: VirtualListProps<Row>): ReactNode {
  const { rows, keyOf, row, estimate, selected, onEnd, label, after, isHead } = props;
  const keys = useMemo(() => rows.map(keyOf), [rows, keyOf]);
  const scroller = useRef<HTMLElement>(null);
  const headAt = (from: number): number =>
    isHead === undefined ? -1 : rows.findLastIndex((item, at) => at <= from && isHead(item));
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: useCallback((at: number) => keys[at] ?? at, [keys]),
    overscan: 8,
    rangeExtractor: (range: Range) => {
      const head = headAt(range.startIndex);
      const drawn = defaultRangeExtractor(range);
      return head === -1 || drawn.includes(head) ? drawn : [head, ...drawn];
    },
    scrollPaddingStart: isHead === undefined ? 0 : 48, // what is moved to is not under a heading
    scrollPaddingEnd: 56, // the next row is seen in part
  });
  const drawn = virtual.getVirtualItems();
  const end = (drawn.at(-1)?.index ?? -1) + 1;
  useAnchor(virtual, keys, scroller);
  useSelected(virtual, selected, selected === undefined ? undefined : keys[selected]);
  const { stop, onKeyDown, onFocus } = useArrows(virtual, { keys, selected, scroller });
  useEffect(() => {
    if (end >= rows.length - 20) onEnd?.();
  }, [end, rows.length, onEnd]);
  const [first, second] = drawn;
  const isAlone = first !== undefined && second !== undefined && second.index > first.index + 1; // a heading of rows below
  const top = isAlone ? second.start - first.size : (first?.start ?? 0);
  return (
    <section
      ref={scroller}
      aria-label={label}
      onKeyDown={onKeyDown}
      onFocus={onFocus}
      className={classNames(
        "h-full overflow-y-auto overscroll-contain [overflow-anchor:none]",
        isHead !== undefined && "scroll-pt-12",
      )}
    >
      <ul style={{ paddingTop: top, paddingBottom: virtual.getTotalSize() - (drawn.at(-1)?.end ?? 0) }}>
        {drawn.map(({ index, key }) => {
          const item = rows[index];
          if (item === undefined) return null;
          return (
            <li
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              aria-setsize={rows.length}
              aria-posinset={index + 1}
              className={isHead?.(item) === true ? "sticky top-0 z-10" : undefined}
            >
              <RowStopContext value={index === stop ? stops.in : stops.out}>{row(item)}</RowStopContext>
            </li>
          );
        })}
      </ul>
      {after}
    </section>
  );
}

type Virtual = ReturnType<typeof useVirtualizer<HTMLElement, Element>>;

/** Keeps the row at the top of what is in sight in its place when rows come or go above it. */
function useAnchor(virtual: Virtual, keys: readonly string[], scroller: RefObject<HTMLElement | null>): void {
  const anchor = useRef<{ readonly key: string | undefined; readonly pastPx: number }>(undefined);
  const known = useRef(keys);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const at = anchor.current?.key === undefined ? -1 : keys.indexOf(anchor.current.key);
    const start = virtual.measurementsCache[at]?.start;
    if (known.current !== keys && element.scrollTop > 0 && start !== undefined)
      element.scrollTop = start + (anchor.current?.pastPx ?? 0);
    known.current = keys;
    const top = virtual.getVirtualItemForOffset(element.scrollTop);
    anchor.current = top && { key: keys[top.index], pastPx: element.scrollTop - top.start };
  });
}

/** Scrolls a newly selected row into sight. */
function useSelected(virtual: Virtual, at: number | undefined, key: string | undefined): void {
  const latest = useRef(at);
  useLayoutEffect(() => {
    latest.current = at;
  });
  useEffect(() => {
    if (key !== undefined && latest.current !== undefined) virtual.scrollToIndex(latest.current, { align: "auto" });
  }, [key, virtual]);
}

interface ArrowsOptions {
  readonly keys: readonly string[];
  readonly selected: number | undefined;
  readonly scroller: RefObject<HTMLElement | null>;
}

/** The row in the tab order: the one that had the focus, else the selected one, else the first in sight. */
function useArrows(virtual: Virtual, { keys, selected, scroller }: ArrowsOptions) {
  const [focused, setFocused] = useState<string>();
  /** Gets the focus when it is drawn; a row without a control is passed over. */
  const wanted = useRef<{ readonly at: number; readonly step: number }>(undefined);
  const drawn = virtual.getVirtualItems();
  const isDrawn = (at: number): boolean => drawn.some(({ index }) => index === at);
  const stop = [focused === undefined ? -1 : keys.indexOf(focused), selected ?? -1].find(isDrawn);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const { at, step } = wanted.current;
    const row = scroller.current?.querySelector(`[data-index="${at}"]`);
    if (row === undefined || row === null) return;
    wanted.current = undefined;
    const control = row.querySelector<HTMLElement>("[data-stop]");
    if (control !== null) control.focus({ preventScroll: true });
    else if (keys[at + step] !== undefined) go(at + step, step);
  });
  const go = (at: number, step: number): void => {
    wanted.current = { at, step };
    setFocused(keys[at]);
    virtual.scrollToIndex(at, { align: "auto" });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const { target, key } = event;
    if (!(target instanceof Element) || !target.matches("[data-stop]")) return;
    const from = indexOf(target);
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: keys.length - 1 }[key];
    if (to === undefined) return;
    event.preventDefault();
    go(Math.min(keys.length - 1, Math.max(0, to)), to < from ? -1 : 1);
  };
  const onFocus = ({ target }: { readonly target: EventTarget }): void => {
    if (target instanceof Element && target.matches("[data-stop]")) setFocused(keys[indexOf(target)]);
  };
  return { stop: stop ?? virtual.range?.startIndex ?? 0, onKeyDown, onFocus };
}

function indexOf(control: Element): number {
  return Number(control.closest("[data-index]")?.getAttribute("data-index") ?? -1);
}
