import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";

interface Cursor {
  readonly next_after?: string;
}

interface PagesOptions<Page, Row> {
  readonly queryKey: readonly unknown[];
  readonly read: (after: string | undefined, signal: AbortSignal) => Promise<Page>;
  /** Must be the same function at every render, as `keyOf`. */
  readonly rowsOf: (page: Page) => readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly enabled?: boolean;
}

export interface Pages<Page, Row> {
  /** In the server's order, each once, as far as they were read. Undefined until the first page is here. */
  readonly rows: readonly Row[] | undefined;
  readonly first: Page | undefined;
  readonly error: unknown;
  readonly again: () => void;
  readonly more: () => void;
  readonly hasMore: boolean;
}

/** A list that is read page by page. A row that moved to another page meanwhile is in it once. */
export function usePages<Page extends Cursor, Row>(options: PagesOptions<Page, Row>): Pages<Page, Row> {
  const { queryKey, read, rowsOf, keyOf, enabled = true } = options;
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_after }) => next_after,
    enabled,
  });
  const rows = useMemo(() => {
    const all = data?.pages.flatMap(rowsOf);
    return all && [...new Map(all.map((row) => [keyOf(row), row])).values()];
  }, [data, rowsOf, keyOf]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const again = useCallback(() => void refetch(), [refetch]);
  return { rows, first: data?.pages[0], error, again, more, hasMore: hasNextPage };
}

/** Reads further pages as long as `isWanting`, until one fails. Returns whether it still reads. */
export function useReadOn(
  isWanting: boolean,
  {
    hasMore,
    more,
    error = null,
  }: Partial<Pick<Pages<unknown, unknown>, "error">> & Pick<Pages<unknown, unknown>, "hasMore" | "more">,
): boolean {
  const isReading = isWanting && hasMore;
  useEffect(() => {
    if (isReading && error === null) more();
  }, [isReading, error, more]);
  return isReading;
}
