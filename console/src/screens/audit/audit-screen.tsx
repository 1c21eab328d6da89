import type { AuditEventView, CheckedView } from "@postern/core/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { memo, type ReactNode, useState } from "react";
import type { AuditAddress } from "../../address.ts";
import { type Answer, ask, type Sent, useMay, usePages, useReadOn } from "../../api/index.ts";
import {
  Button,
  EmptyState,
  Hash,
  Icon,
  NotYet,
  number,
  RiskBadge,
  StateBadge,
  save,
  Text,
  Time,
  toast,
  VirtualList,
} from "../../kit/index.ts";
import { useFeed } from "../../live/feed.ts";
import { EventDetail } from "./event-detail.tsx";
import { FilterBar } from "./filter.tsx";

const route = getRouteApi("/audit/{-$event}");

export function AuditScreen(): ReactNode {
  const { event: id = "" } = route.useParams();
  const may = useMay();
  if (!may("audit:read"))
    return (
      <EmptyState icon="lock" title="The audit log is for auditors">
        An administrator can give you the role <b>auditor</b>.
      </EmptyState>
    );
  return <Explorer seq={/^\d+$/.test(id) ? Number(id) : undefined} />;
}

function Explorer({ seq }: { readonly seq: number | undefined }): ReactNode {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const sent = { ...filter, limit: 200 } as Sent<"GET /v1/audit/latest">; // the server refuses a wrong outcome
  // Written events never change; new ones are offered by a button.
  const pages = usePages("GET /v1/audit/latest", sent, { rowsOf: eventsOf, keyOf: idOf, isFixed: true });
  const { rows, first, last, error, again, more, hasMore, isReading } = pages;
  const [hasNew, setHasNew] = useState(false);
  useFeed(
    ({ id }) => {
      if (!id.includes(".")) setHasNew(true);
    },
    () => setHasNew(true),
  );
  // A rare event may be far back: pages are read until the screen is full.
  useReadOn(rows !== undefined && rows.length < 50, pages);
  const show = (search: AuditAddress, event?: number | undefined): void =>
    void navigate({ to: "/audit/{-$event}", params: { event: event?.toString() }, search });
  const open = (event: number | undefined): void => show(filter, event);
  const readLatest = (): void => {
    setHasNew(false);
    again();
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <FilterBar filter={filter} onChange={show} />
      <Integrity size={first?.size} checked={first?.checked} isNew={hasNew} onLatest={readLatest} />
      <div className="grid min-h-0 flex-1 grid-rows-1 lg:grid-cols-[minmax(0,1fr)_minmax(0,28rem)]">
        <div className="min-h-0 min-w-0 bg-surface">
          {rows === undefined && <NotYet error={error} again={again} rows={12} />}
          {rows?.length === 0 && !hasMore && <EmptyState icon="search" title="No event matches" />}
          {rows !== undefined && (rows.length > 0 || hasMore) && (
            <VirtualList
              label="Events, new to old"
              rows={rows}
              keyOf={idOf}
              estimate={52}
              selected={seq === undefined ? undefined : rows.findIndex((event) => event.seq === seq)}
              onEnd={more}
              row={(event) => <EventRow event={event} isChosen={event.seq === seq} onChoose={open} />}
              after={
                <Foot
                  isFiltered={Object.keys(filter).length > 0}
                  isReading={isReading}
                  next={last?.next_before}
                  onMore={more}
                />
              }
            />
          )}
        </div>
        <EventDetail key={seq} seq={seq} onClose={() => open(undefined)} />
      </div>
    </div>
  );
}

const eventsOf = ({ events }: Answer<"GET /v1/audit/latest">): readonly AuditEventView[] => events;
const idOf = ({ audit_id }: AuditEventView): string => audit_id;

type FootProps = Readonly<{ isFiltered: boolean; isReading: boolean; next: number | undefined; onMore: () => void }>;

function Foot({ isFiltered, isReading, next, onMore }: FootProps): ReactNode {
  if (next === undefined)
    return (
      <p className="px-4 py-3 text-ink-3">
        {isFiltered ? "No earlier event matches." : "This is where the log begins."}
      </p>
    );
  return (
    <p role="status" className="flex items-center gap-3 px-4 py-3 text-ink-3">
      {isReading ? `Reading back from event ${number(next)} …` : <Button onClick={onMore}>Read on</Button>}
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
            {outcome !== "info" && <StateBadge state={outcome} />}
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

type IntegrityProps = Readonly<{
  size: number | undefined;
  /** The last check that Postern made by itself. */
  checked: CheckedView | undefined;
  isNew: boolean;
  onLatest: () => void;
}>;

/** How long the log is, whether it is intact, and its export. */
function Integrity({ size, checked, isNew, onLatest }: IntegrityProps): ReactNode {
  const may = useMay();
  const { data: last, refetch } = useQuery<CheckedView>({
    queryKey: ["audit-verified"],
    queryFn: async () => ({ ...(await ask("GET /v1/audit/verify")), at: new Date().toISOString() }),
    enabled: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY, // shown until the page is closed
  });
  const check = useMutation({ mutationFn: () => refetch({ throwOnError: true }) });
  const download = useMutation({
    mutationFn: () => save("/v1/audit/export", "audit.log"),
    onError: ({ message }) => toast(message, "bad"),
  });
  const shown = last !== undefined && (checked === undefined || checked.at < last.at) ? last : checked;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-surface px-4 py-2">
      {size !== undefined && <span className="tabular text-ink-2">{number(size)} events in the log</span>}
      {isNew && (
        <Button size="small" onClick={onLatest}>
          Show new events
        </Button>
      )}
      <span className="ml-auto flex flex-wrap items-center gap-x-3 gap-y-1" role="status">
        {check.isPending && <span className="text-ink-2">Reading every entry again …</span>}
        {check.error !== null && <Text className="text-critical">{check.error.message}</Text>}
        {!check.isPending && check.error === null && shown !== undefined && <Found found={shown} />}
        <Button size="small" busy={check.isPending} onClick={() => check.mutate()}>
          Check the whole log
        </Button>
        {may("audit:export") && (
          <Button size="small" icon="download" busy={download.isPending} onClick={() => download.mutate()}>
            Export
          </Button>
        )}
      </span>
    </div>
  );
}

function Found({ found }: { readonly found: CheckedView }): ReactNode {
  if (!found.intact) {
    const { unreadable, first_broken: entry, why } = found;
    const what = unreadable === undefined ? `Broken at entry ${entry}` : `Unreadable from entry ${entry} on`;
    return (
      <span className="font-medium text-critical">
        {what}: <Text>{why}</Text> (<Time at={found.at} />
        {unreadable === "failing" && "; it is tried again"})
      </span>
    );
  }
  const { events, problems, at, head } = found;
  if (problems !== undefined)
    return (
      <span className="font-medium text-critical">
        {number(events)} intact, but: <Text>{problems.join(" ")}</Text> (<Time at={at} />)
      </span>
    );
  return (
    <span className="flex flex-wrap items-center gap-1.5 text-safe">
      <Icon name="check" size={14} />
      <span>
        {number(events)} intact, checked <Time at={at} />, head
      </span>
      <Hash value={head} label="head" />
    </span>
  );
}
