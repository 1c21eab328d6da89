import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { classNames, Icon } from "../kit/index.ts";

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
