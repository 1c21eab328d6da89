import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { memo, type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import type { AuditEventView } from "../../../../src/server/contract/audit.ts";
import { ask, type Sent, useMay } from "../../api/index.ts";
import { Button, EmptyState, NotYet, number, RiskBadge, Text, Time, VirtualList } from "../../kit/index.ts";
import { useFeed } from "../../live/feed.ts";
import { EventDetail, OutcomeBadge } from "./event-detail.tsx";
import { type Filter, FilterBar, filterFrom } from "./filter.tsx";
import { Integrity } from "./integrity.tsx";

export function AuditScreen(): ReactNode {
  const { id = "" } = useParams({ strict: false });
  const may = useMay();
  if (!may("audit:read"))
    return (
      <EmptyState icon="lock" title="The audit log is for auditors">
        An administrator can give you the role <b>auditor</b>.
      </EmptyState>
    );
  return <Explorer seq={/^\d+$/.test(id) ? Number(id) : undefined} />;
}

function useEvents(filter: Filter) {
  return useInfiniteQuery({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam: before, signal }) => {
      const sent = { ...filter, before, limit: 200 };
      return ask("GET /v1/audit/latest", sent as Sent<"GET /v1/audit/latest">, signal); // the server refuses a wrong outcome
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next_before }) => next_before,
    staleTime: Number.POSITIVE_INFINITY, // written events never change; new ones are offered by a button
  });
}

function Explorer({ seq }: { readonly seq: number | undefined }): ReactNode {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const filter = useMemo(() => filterFrom(search), [search]);
  const navigate = useNavigate();
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useEvents(filter);
  const [hasNew, setHasNew] = useState(false);
  useFeed(
    ({ id }) => {
      if (!id.includes(".")) setHasNew(true);
    },
    () => setHasNew(true),
  );
  const rows = useMemo(() => data?.pages.flatMap((page) => page.events), [data]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  // A rare event may be far back: pages are read until the screen is full.
  const isShort = rows !== undefined && rows.length < 50;
  useEffect(() => {
    if (isShort) more();
  }, [isShort, more]);
  const open = (next: number | undefined): void =>
    void navigate({ to: next === undefined ? "/audit" : `/audit/${next}`, search: filter as never });
  const readLatest = (): void => {
    setHasNew(false);
    void refetch();
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <FilterBar
        filter={filter}
        onChange={(next) => void navigate({ to: "/audit", search: filterFrom(next) as never })}
      />
      <Integrity size={data?.pages[0]?.size} checked={data?.pages[0]?.checked} isNew={hasNew} onLatest={readLatest} />
      <div className="grid min-h-0 flex-1 grid-rows-1 lg:grid-cols-[minmax(0,1fr)_minmax(0,28rem)]">
        <div className="min-h-0 min-w-0 bg-surface">
          {rows === undefined && <NotYet error={error} again={refetch} rows={12} />}
          {rows?.length === 0 && !hasNextPage && <EmptyState icon="search" title="No event matches" />}
          {rows !== undefined && (rows.length > 0 || hasNextPage) && (
            <VirtualList
              label="Events, new to old"
              rows={rows}
              keyOf={idOf}
              estimate={52}
              selected={seq === undefined ? undefined : rows.findIndex((event) => event.seq === seq)}
              onEnd={more}
              row={(event) => <EventRow event={event} isChosen={event.seq === seq} onChoose={open} />}
              after={<Foot isFetching={isFetching} next={data?.pages.at(-1)?.next_before} onMore={more} />}
            />
          )}
        </div>
        <EventDetail key={seq} seq={seq} onClose={() => open(undefined)} />
      </div>
    </div>
  );
}

function idOf({ audit_id }: AuditEventView): string {
  return audit_id;
}

type FootProps = Readonly<{ isFetching: boolean; next: number | undefined; onMore: () => void }>;

function Foot({ isFetching, next, onMore }: FootProps): ReactNode {
  if (next === undefined) return <p className="px-4 py-3 text-ink-3">This is where the log begins.</p>;
  return (
    <p role="status" className="flex items-center gap-3 px-4 py-3 text-ink-3">
      {isFetching ? `Reading back from event ${number(next)} …` : <Button onClick={onMore}>Read on</Button>}
    </p>
  );
}

interface EventRowProps {
  readonly event: AuditEventView;
  readonly isChosen: boolean;
  readonly onChoose: (seq: number) => void;
}

/** `onChoose` differs at every render and always does the same for an event, so it does not count as a change. */
const EventRow = memo(
  function EventRow({ event, isChosen, onChoose }: EventRowProps): ReactNode {
    const { seq, type, decided_by, principal, risk_level, outcome, summary, timestamp } = event;
    const operator = type.startsWith("operator.") ? decided_by : undefined;
    const who = operator ?? principal?.agent;
    return (
      <button
        type="button"
        aria-current={isChosen ? "true" : undefined}
        onClick={() => onChoose(seq)}
        className="grid w-full grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-0.5 border-b border-line px-4 py-2 text-left -outline-offset-2 hover:bg-hover aria-[current=true]:bg-accent-tint sm:grid-cols-[4.5rem_minmax(0,1fr)_auto]"
      >
        <span className="tabular text-ink-3">#{seq}</span>
        <span className="min-w-0 max-sm:order-last max-sm:col-span-2">
          <span className="flex min-w-0 flex-wrap items-center gap-x-2">
            <Text className="mono font-medium">{type}</Text>
            {risk_level !== undefined && <RiskBadge risk={risk_level} />}
            {outcome !== "info" && <OutcomeBadge outcome={outcome} />}
          </span>
          <span className="block truncate text-ink-2">
            <Text limit={300}>{summary}</Text>
          </span>
        </span>
        <span className="flex min-w-0 text-ink-3 max-sm:max-w-[65vw] max-sm:gap-2 sm:flex-col sm:items-end">
          {who !== undefined && (
            <span className="min-w-0 truncate sm:order-last sm:max-w-36">
              <Text>{who}</Text>
            </span>
          )}
          <span className="shrink-0">
            <Time at={timestamp} />
          </span>
        </span>
      </button>
    );
  },
  (one, other) => one.event === other.event && one.isChosen === other.isChosen,
);
