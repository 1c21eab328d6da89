import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Approval, listPending, type Waiting } from "../../api/approvals.ts";
import { byUrgency } from "./urgency.ts";

export interface Narrowed {
  readonly approvals: readonly Approval[];
  /** Of any risk. */
  readonly waiting: Waiting | undefined;
  readonly status: "loading" | "ready" | "failed";
  readonly error: unknown;
  readonly reload: () => void;
  readonly more: () => void;
}

export interface Wanted {
  readonly risk: string | undefined;
  /** Only what the person here may decide: routes, roles, quorum and delegations are the server's to weigh. */
  readonly isMine: boolean;
}

/** The part of what waits that is wanted, as the server lists it. Undefined: nothing is asked. */
export function useNarrowed(wanted: Wanted | undefined): Narrowed {
  const { risk, isMine = false } = wanted ?? {};
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["live", "approvals", "narrowed", risk, isMine],
    queryFn: ({ pageParam, signal }) => listPending(pageParam, { risk, mine: isMine || undefined, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_after }) => next_after,
    enabled: wanted !== undefined,
  });
  const approvals = useMemo(() => (data?.pages.flatMap((page) => page.approvals) ?? []).sort(byUrgency), [data]);
  return {
    approvals,
    waiting: data?.pages[0]?.waiting,
    status: data !== undefined ? "ready" : error === null ? "loading" : "failed",
    error,
    reload: () => void refetch(),
    more: () => {
      if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
    },
  };
}
