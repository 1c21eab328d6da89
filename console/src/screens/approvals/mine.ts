import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Approval, listPending } from "../../api/approvals.ts";
import { byUrgency } from "./inbox.ts";

export interface Mine {
  readonly approvals: readonly Approval[];
  readonly status: "loading" | "ready" | "failed";
  readonly error: unknown;
  readonly reload: () => void;
  readonly more: () => void;
}

/** What the person here may decide: routes, roles, quorum and delegations are the server's to weigh, so it is asked. */
export function useMine(isWanted: boolean): Mine {
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["live", "approvals", "mine"],
    queryFn: ({ pageParam, signal }) => listPending(pageParam, { mine: true, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_after }) => next_after,
    enabled: isWanted,
  });
  const approvals = useMemo(() => (data?.pages.flatMap((page) => page.approvals) ?? []).sort(byUrgency), [data]);
  return {
    approvals,
    status: data !== undefined ? "ready" : error === null ? "loading" : "failed",
    error,
    reload: () => void refetch(),
    more: () => {
      if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
    },
  };
}
