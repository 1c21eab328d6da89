import type { ReactNode } from "react";
import { classNames, Skeleton, TypedSearch, VirtualList, type VirtualListProps } from "../kit/index.ts";

type SplitViewProps = Readonly<{
  list: ReactNode;
  /** Undefined when nothing is chosen. */
  detail: ReactNode | undefined;
  /** The link back to the list, on a phone. */
  back: ReactNode;
  /** Shown on a wide screen when nothing is chosen. */
  nothing: ReactNode;
}>;

/** A list and its chosen entry: side by side on a wide screen, one after the other on a phone. */
export function SplitView({ list, detail, back, nothing }: SplitViewProps): ReactNode {
  const isChosen = detail !== undefined;
  return (
    <div className="grid h-full min-h-0 grid-cols-1 grid-rows-1 lg:grid-cols-[minmax(18rem,22rem)_minmax(0,1fr)]">
      <div className={classNames("min-h-0 min-w-0 border-line bg-surface lg:border-r", isChosen && "max-lg:hidden")}>
        {list}
      </div>
      <div className={classNames("flex min-h-0 min-w-0 flex-col", !isChosen && "max-lg:hidden")}>
        {isChosen && back}
        {isChosen ? detail : nothing}
      </div>
    </div>
  );
}

interface SearchListProps<Row> extends VirtualListProps<Row> {
  readonly placeholder: string;
  readonly words: string | undefined;
  readonly onWords: (words: string | undefined) => void;
  /** Pages that may hold a match are being read. */
  readonly isReading?: boolean;
  /** Shown when there is no row. */
  readonly nothing: ReactNode;
}

/** A list under a field that searches it. */
export function SearchList<Row>(props: SearchListProps<Row>): ReactNode {
  const { placeholder, words, onWords, isReading = false, nothing, ...list } = props;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="border-b border-line p-3">
        <TypedSearch
          label={`Search ${list.label.toLowerCase()}`}
          placeholder={placeholder}
          words={words}
          onWords={onWords}
        />
      </div>
      {isReading && <Skeleton rows={8} />}
      {!isReading && list.rows.length === 0 && nothing}
      {list.rows.length > 0 && (
        <div className="min-h-0 flex-1">
          <VirtualList {...list} />
        </div>
      )}
    </div>
  );
}

/** Whether each of the words occurs in one of the texts. */
export function hasWords(texts: readonly (string | undefined)[], words = ""): boolean {
  const all = texts.join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word)); // no word at all is in every text
}
