import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { type Approval, listPending, type Waiting } from "../../api/approvals.ts";
import type { Wanted } from "./list-head.tsx";
import { byUrgency } from "./urgency.ts";

export interface Narrowed {
  readonly approvals: readonly Approval[];
  /** Of any risk. */
  readonly waiting: Waiting | undefined;
  readonly status: "loading" | "ready" | "failed";
  readonly error: unknown;
  readonly hasMore: boolean;
  readonly reload: () => void;
  readonly more: () => void;
}

/** The part of what waits that is wanted, as the server lists it. Undefined: nothing is asked. */
export function useNarrowed(wanted: Pick<Wanted, "risk" | "isMine"> | undefined): Narrowed {
  const { risk, isMine = false } = wanted ?? {};
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["live", "approvals", "narrowed", risk, isMine],
    queryFn: ({ pageParam, signal }) => listPending(pageParam, { risk, mine: isMine || undefined, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_after }) => next_after,
    enabled: wanted !== undefined,
  });
  const approvals = useMemo(() => (data?.pages.flatMap((page) => page.approvals) ?? []).sort(byUrgency), [data]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return {
    approvals,
    waiting: data?.pages[0]?.waiting,
    status: data !== undefined ? "ready" : error === null ? "loading" : "failed",
    error,
    hasMore: hasNextPage,
    reload: () => void refetch(),
    more,
  };
}
