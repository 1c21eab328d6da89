import { type ReactNode, useMemo } from "react";
import { approvalsOf, idOf, listDecided } from "../../api/approvals.ts";
import { usePages, useReadOn } from "../../api/use-pages.ts";
import { EmptyState, NotYet, Skeleton } from "../../kit/states.tsx";
import { ApprovalList } from "./approval-list.tsx";
import { isFound } from "./search.ts";

/** What waits no more: what was said, by whom, and what of it has not run and can be taken back. */
export function DecidedList({
  open,
  words,
  isUnused,
}: {
  readonly open: string | undefined;
  readonly words: string;
  /** Only a yes that has not run. */
  readonly isUnused: boolean;
}): ReactNode {
  const state = isUnused ? "approved" : "decided";
  const pages = usePages({
    queryKey: ["live", "approvals", "decided", state],
    read: (after, signal) => listDecided(after, { state, signal }),
    rowsOf: approvalsOf,
    keyOf: idOf,
  });
  const { rows, error, again, more } = pages;
  const shown = useMemo(() => rows?.filter((one) => isFound(one, words)), [rows, words]);
  const isSearching = useReadOn(words.trim() !== "" && shown?.length === 0, pages);
  if (shown === undefined) return <NotYet error={error} again={again} rows={8} />;
  if (isSearching) return <Skeleton rows={8} />;
  if (shown.length === 0) {
    if (words.trim() !== "") return <EmptyState icon="search" title="Nothing that was decided has these words" />;
    return isUnused ? (
      <EmptyState title="No approval is unused">What was approved has run, was taken back or is over.</EmptyState>
    ) : (
      <EmptyState icon="clock" title="Nothing has been decided yet" />
    );
  }
  return <ApprovalList label="Requests that were decided" approvals={shown} open={open} onEnd={more} />;
}
