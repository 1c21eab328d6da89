/** Reads of the server that a screen keeps fresh. Any event refreshes the queries under the key `["live", …]`. */
import { type UseQueryOptions, type UseQueryResult, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { type Answer, askRoute, type RouteName, type Sent } from "./client.ts";

type AnswerOptions<Value> = Pick<UseQueryOptions<Value>, "enabled" | "placeholderData" | "refetchInterval">;

/** Of an answer that is kept fresh. */
export function queryKeyOf<Name extends RouteName>(name: Name, sent: Sent<Name>): readonly unknown[] {
  return ["live", name, sent];
}

/** The answer of a route. @param options of the query */
export function useAnswer<Name extends RouteName>(
  name: Name,
  sent: Sent<Name>,
  options: AnswerOptions<Answer<Name>> = {},
): UseQueryResult<Answer<Name>> {
  return useQuery<Answer<Name>>({
    ...options,
    queryKey: queryKeyOf(name, sent),
    queryFn: async ({ signal }) => (await askRoute(name, sent as object, signal)) as Answer<Name>,
  });
}

/** Where the next page begins: `after` a row, or `before` one when the list goes back in time. */
interface Cursor {
  readonly next_after?: string;
  readonly next_before?: string | number;
}

interface PagesOptions<Page, Row> {
  /** Must be the same function at every render, as `keyOf`. */
  readonly rowsOf: (page: Page) => readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly enabled?: boolean;
  /** Rows never change, so events do not refresh them. */
  readonly isFixed?: boolean;
}

export interface Pages<Page, Row> {
  /** In the server's order, each once, as far as they were read. Undefined until the first page is here. */
  readonly rows: readonly Row[] | undefined;
  readonly first: Page | undefined;
  readonly last: Page | undefined;
  readonly error: unknown;
  readonly again: () => void;
  readonly more: () => void;
  readonly hasMore: boolean;
  readonly isReading: boolean;
}

/** A list that is read page by page. A row that moved to another page meanwhile is in it once. */
export function usePages<Name extends RouteName, Row>(
  name: Name,
  sent: Sent<Name>,
  { rowsOf, keyOf, enabled = true, isFixed = false }: PagesOptions<Answer<Name>, Row>,
): Pages<Answer<Name>, Row> {
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetching } = useInfiniteQuery({
    queryKey: [isFixed ? "fixed" : "live", name, sent],
    queryFn: async ({ pageParam, signal }) =>
      (await askRoute(name, { ...(sent as object), ...pageParam }, signal)) as Answer<Name>,
    initialPageParam: {},
    getNextPageParam: (page) => {
      const { next_after: after, next_before: before } = page as Cursor; // of a list's route
      return after !== undefined ? { after } : before !== undefined ? { before } : undefined;
    },
    enabled,
    // What was found stays until the answer to the next words is here.
    placeholderData: (before, query) =>
      query !== undefined && isSameBut("search", query.queryKey, [name, sent]) ? before : undefined,
    ...(isFixed && { staleTime: Number.POSITIVE_INFINITY }),
  });
  const rows = useMemo(() => {
    const all = data?.pages.flatMap(rowsOf);
    return all && [...new Map(all.map((row) => [keyOf(row), row])).values()];
  }, [data, rowsOf, keyOf]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const again = useCallback(() => void refetch(), [refetch]);
  const pages: readonly Answer<Name>[] = data?.pages ?? [];
  return { rows, first: pages[0], last: pages.at(-1), error, again, more, hasMore: hasNextPage, isReading: isFetching };
}

function isSameBut(member: string, [, ...key]: readonly unknown[], other: readonly unknown[]): boolean {
  const without = (name: string, value: unknown): unknown => (name === member ? undefined : value);
  return JSON.stringify(key, without) === JSON.stringify(other, without);
}

/** Reads further pages as long as `isWanting`, until one fails. Returns whether it still reads. */
export function useReadOn(
  isWanting: boolean,
  { hasMore, more, error = null }: Pick<Pages<unknown, unknown>, "hasMore" | "more"> & { readonly error?: unknown },
): boolean {
  const isReading = isWanting && hasMore;
  useEffect(() => {
    if (isReading && error === null) more();
  }, [isReading, error, more]);
  return isReading;
}
