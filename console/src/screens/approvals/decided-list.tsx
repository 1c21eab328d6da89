import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo } from "react";
import { listDecided } from "../../api/approvals.ts";
import { EmptyState, NotYet, Skeleton } from "../../kit/states.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { ApprovalRow } from "./approval-row.tsx";
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
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["live", "approvals", "decided", state],
    queryFn: ({ pageParam, signal }) => listDecided(pageParam, { state, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_after }) => next_after,
  });
  const shown = useMemo(
    () => (data?.pages.flatMap((page) => page.approvals) ?? []).filter((one) => isFound(one, words)),
    [data, words],
  );
  const isSearching = words.trim() !== "" && shown.length === 0 && hasNextPage;
  const more = (): void => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  };
  useEffect(() => {
    if (isSearching && !isFetchingNextPage) void fetchNextPage();
  }, [isSearching, isFetchingNextPage, fetchNextPage]);
  if (data === undefined) return <NotYet error={error} again={refetch} rows={8} />;
  if (isSearching) return <Skeleton rows={8} />;
  if (shown.length === 0) {
    if (words.trim() !== "") return <EmptyState icon="search" title="Nothing that was decided has these words" />;
    return isUnused ? (
      <EmptyState title="No approval is unused">What was approved has run, was taken back or is over.</EmptyState>
    ) : (
      <EmptyState icon="clock" title="Nothing has been decided yet" />
    );
  }
  return (
    <VirtualList
      label="Requests that were decided"
      rows={shown}
      keyOf={({ approval_id }) => approval_id}
      estimate={76}
      selected={shown.findIndex(({ approval_id }) => approval_id === open)}
      onEnd={more}
      row={(approval) => <ApprovalRow approval={approval} isOpen={approval.approval_id === open} />}
    />
  );
}
