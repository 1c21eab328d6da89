import type { ReactNode } from "react";
import { Button, classNames } from "../kit/index.ts";

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
      <div
        className={classNames(
          "flex min-h-0 min-w-0 flex-col border-line bg-surface lg:border-r",
          isChosen && "max-lg:hidden",
        )}
      >
        {list}
      </div>
      <div className={classNames("flex min-h-0 min-w-0 flex-col", !isChosen && "max-lg:hidden")}>
        {isChosen && back}
        {isChosen ? detail : nothing}
      </div>
    </div>
  );
}

type SidePanelProps = Readonly<{ label: string; title: ReactNode; onClose: () => void; children: ReactNode }>;

/** The open entry of a table that fills the screen: beside it, or over it on a phone. */
export function SidePanel({ label, title, onClose, children }: SidePanelProps): ReactNode {
  return (
    <aside
      aria-label={label}
      className="min-h-0 overflow-y-auto border-line bg-canvas max-lg:fixed max-lg:inset-0 max-lg:z-30 lg:w-md lg:shrink-0 lg:border-l"
    >
      <header className="sticky top-0 z-10 flex items-center justify-between gap-2 border-b border-line bg-surface px-4 py-2">
        <h2 className="tabular min-w-0 truncate font-semibold">{title}</h2>
        <Button look="plain" size="small" icon="cross" aria-label="Close" onClick={onClose} />
      </header>
      {children}
    </aside>
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
