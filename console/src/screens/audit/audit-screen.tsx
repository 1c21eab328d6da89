import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import type { LatestEvents } from "../../../../src/server/contract/audit.ts";
import { get } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { EmptyState, NotYet } from "../../kit/states.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { useFeed } from "../../live/feed.ts";
import { EventDetail } from "./event-detail.tsx";
import { EventRow } from "./event-row.tsx";
import { type Filter, FilterBar, filterFrom } from "./filter.tsx";
import { Integrity } from "./integrity.tsx";

export function AuditScreen(): ReactNode {
  const { id } = useParams({ strict: false });
  const may = useMay();
  if (!may("audit:read"))
    return (
      <EmptyState icon="lock" title="The audit log is for auditors">
        An administrator can give you the role <b>auditor</b>.
      </EmptyState>
    );
  return <Explorer seq={id === undefined || !/^\d+$/.test(id) ? undefined : Number(id)} />;
}

const pageEvents = 200;

function useEvents(filter: Filter) {
  return useInfiniteQuery({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam, signal }) =>
      get<LatestEvents>("/v1/audit/latest", { query: { ...filter, before: pageParam, limit: pageEvents }, signal }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next_before }) => next_before,
    staleTime: Number.POSITIVE_INFINITY, // what is written never changes; what is new is offered, not pushed in
  });
}

function Explorer({ seq }: { readonly seq: number | undefined }): ReactNode {
  const search = useSearch({ strict: false }) as Readonly<Record<string, unknown>>; // the address is a stranger's: filterFrom judges it
  const filter = useMemo(() => filterFrom(search), [search]);
  const navigate = useNavigate();
  const events = useEvents(filter);
  const [isNew, hearNew] = useNews();
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = events;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.events), [data]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  // A rare event may be far back: short pages are followed until the screen is full, one after the other.
  const isShort = rows !== undefined && rows.length < 50;
  useEffect(() => {
    if (isShort) more();
  }, [isShort, more]);
  const to = (next: number | undefined): void =>
    void navigate({ to: next === undefined ? "/audit" : `/audit/${next}`, search: filter as never });
  const latest = (): void => {
    hearNew();
    void refetch();
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <FilterBar
        filter={filter}
        onChange={(next) => void navigate({ to: "/audit", search: filterFrom(next) as never })}
      />
      <Integrity size={data?.pages[0]?.size} checked={data?.pages[0]?.checked} isNew={isNew} onLatest={latest} />
      <div className="grid min-h-0 flex-1 grid-rows-1 lg:grid-cols-[minmax(0,1fr)_minmax(0,28rem)]">
        <div className="min-h-0 min-w-0 bg-surface">
          {rows === undefined ? (
            <NotYet error={error} again={refetch} rows={12} />
          ) : rows.length === 0 && !hasNextPage ? (
            <EmptyState icon="search" title="No event matches" />
          ) : (
            <VirtualList
              label="Events, new to old"
              rows={rows}
              keyOf={(event) => event.audit_id}
              estimate={52}
              selected={seq === undefined ? undefined : rows.findIndex((event) => event.seq === seq)}
              onEnd={more}
              row={(event) => <EventRow event={event} isChosen={event.seq === seq} onChoose={to} />}
              after={<Foot isFetching={isFetching} next={data?.pages.at(-1)?.next_before} onMore={more} />}
            />
          )}
        </div>
        <EventDetail key={seq} seq={seq} onClose={() => to(undefined)} />
      </div>
    </div>
  );
}

/** Whether something was written since the page was read. */
function useNews(): readonly [isNew: boolean, heard: () => void] {
  const [isNew, setIsNew] = useState(false);
  useFeed(
    ({ id }) => {
      if (!id.includes(".")) setIsNew(true);
    },
    () => setIsNew(true),
  );
  return [isNew, () => setIsNew(false)];
}

function Foot({
  isFetching,
  next,
  onMore,
}: {
  readonly isFetching: boolean;
  readonly next: number | undefined;
  readonly onMore: () => void;
}): ReactNode {
  if (next === undefined) return <p className="px-4 py-3 text-ink-3">This is where the log begins.</p>;
  return (
    <p role="status" className="flex items-center gap-3 px-4 py-3 text-ink-3">
      {isFetching ? (
        `Reading back from event ${next.toLocaleString("en")} …`
      ) : (
        <Button onClick={onMore}>Read on</Button>
      )}
    </p>
  );
}
