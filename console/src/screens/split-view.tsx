import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { classNames, Icon, SearchInput, Skeleton, VirtualList, type VirtualListProps } from "../kit/index.ts";

type SplitViewProps = Readonly<{
  list: ReactNode;
  /** Undefined when nothing is chosen. */
  detail: ReactNode | undefined;
  /** The list's own path. */
  home: string;
  /** The label of the link back to the list. */
  back: string;
  /** Shown on a wide screen when nothing is chosen. */
  nothing: ReactNode;
}>;

/** A list and its chosen entry: side by side on a wide screen, one after the other on a phone. */
export function SplitView({ list, detail, home, back, nothing }: SplitViewProps): ReactNode {
  const isChosen = detail !== undefined;
  return (
    <div className="grid h-full min-h-0 grid-cols-1 grid-rows-1 lg:grid-cols-[minmax(18rem,22rem)_minmax(0,1fr)]">
      <div className={classNames("min-h-0 min-w-0 border-line bg-surface lg:border-r", isChosen && "max-lg:hidden")}>
        {list}
      </div>
      <div className={classNames("flex min-h-0 min-w-0 flex-col", !isChosen && "max-lg:hidden")}>
        {isChosen && (
          <Link
            to={home}
            className="flex items-center gap-1.5 border-b border-line bg-surface px-4 py-2.5 text-ink-2 lg:hidden"
          >
            <Icon name="back" /> {back}
          </Link>
        )}
        {isChosen ? detail : nothing}
      </div>
    </div>
  );
}

interface SearchListProps<Row> extends VirtualListProps<Row> {
  readonly placeholder: string;
  readonly words: string;
  readonly onWords: (words: string) => void;
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
        <SearchInput
          label={`Search ${list.label.toLowerCase()}`}
          placeholder={placeholder}
          words={words}
          onChange={onWords}
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
export function hasWords(texts: readonly (string | undefined)[], words: string): boolean {
  if (words.trim() === "") return true;
  const all = texts.join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
