import type { AuditEventView, CheckedView } from "@postern/core/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { type Answer, ask, plainSentence, type Sent, useAnswer, useMay, usePages, useReadOn } from "../../api/index.ts";
import {
  Button,
  type Column,
  EmptyState,
  type Filter,
  FilterBar,
  type FilterOption,
  FilterTable,
  Hash,
  Icon,
  number,
  RiskBadge,
  StateBadge,
  save,
  Text,
  TextLink,
  Time,
  toast,
  useFilters,
} from "../../kit/index.ts";
import { useFeed } from "../../live/feed.ts";
import { SidePanel } from "../split-view.tsx";
import { EventDetail } from "./event-detail.tsx";

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

const kinds: readonly FilterOption[] = [
  ["", "Everything"],
  ["tool_call.", "Calls"],
  ["gate.,approval.,grant.", "Gate and approvals"],
  ["operator.", "Actions of operators"],
  ["alarm.", "Alarms"],
  ["mcp.", "Servers"],
  ["runtime.", "Postern itself"],
];
const outcomes = ["success", "failure", "suppressed", "info"].map((one) => [one, one] as const);
const filters: readonly Filter[] = [
  { name: "text", label: "Text", placeholder: "Exact text in an event", look: "wide" },
  { name: "type", label: "Kind", options: kinds },
  { name: "outcome", label: "Outcome", options: [["", "Any outcome"], ...outcomes] },
  { name: "tool", label: "Tool", place: "more" },
  { name: "by", label: "Decided or done by", place: "more" },
  { name: "agent", label: "Agent", place: "more" },
  { name: "run_id", label: "Run", place: "more" },
  { name: "trace_id", label: "Trace", place: "more" },
  { name: "call_id", label: "Call", place: "more" },
  { name: "since", label: "From", place: "more", look: "time" },
  { name: "until", label: "To", place: "more", look: "time" },
];

function Explorer({ seq }: { readonly seq: number | undefined }): ReactNode {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const where = filter as Sent<"GET /v1/audit/count">; // the server refuses a wrong outcome
  const sent = { ...where, limit: 200 };
  // Written events never change; new ones are offered by a button.
  const pages = usePages("GET /v1/audit/latest", sent, { rowsOf: eventsOf, keyOf: idOf, isFixed: true });
  const { rows, first, again, hasMore } = pages;
  const [hasNew, setHasNew] = useState(false);
  useFeed(
    ({ id }) => {
      if (!id.includes(".")) setHasNew(true);
    },
    () => setHasNew(true),
  );
  // A rare event may be far back: pages are read until the screen is full.
  useReadOn(rows !== undefined && rows.length < 50, pages);
  const isFull = rows !== undefined && (rows.length >= 50 || !hasMore);
  const readLatest = (): void => {
    setHasNew(false);
    again();
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <FilterBar {...useFilters()} filters={filters} />
      <Integrity
        size={first?.size}
        checked={first?.checked}
        where={where}
        found={isFull ? { count: rows.length, more: hasMore } : undefined}
        isNew={hasNew}
        onLatest={readLatest}
      />
      {filter.text !== undefined && isFull && <ByArguments words={filter.text} />}
      <div className="flex min-h-0 flex-1 bg-surface">
        <FilterTable
          label="Events, new to old"
          pages={pages}
          keyOf={idOf}
          estimate={44}
          chosen={rows?.find((event) => event.seq === seq)?.audit_id}
          link={({ seq }) => ({ to: "/audit/{-$event}", params: { event: String(seq) }, search: filter })}
          row={{ columns, layout }}
          nothing={<EmptyState icon="search" title="No event matches" />}
        />
        {seq !== undefined && (
          <SidePanel
            label={`Event ${seq}`}
            title={`Event #${seq}`}
            onClose={() => void navigate({ to: "/audit/{-$event}", params: { event: undefined }, search: filter })}
          >
            <EventDetail key={seq} seq={seq} />
          </SidePanel>
        )}
      </div>
    </div>
  );
}

const eventsOf = ({ events }: Answer<"GET /v1/audit/latest">): readonly AuditEventView[] => events;
const idOf = ({ audit_id }: AuditEventView): string => audit_id;

/** The person who acted or decided, else the agent. */
function whoOf({ decided_by, principal }: AuditEventView): string | undefined {
  return decided_by ?? principal?.agent;
}

const columns: readonly Column<AuditEventView>[] = [
  { name: "Event", cell: ({ seq }) => <span className="tabular text-ink-3">#{seq}</span> },
  { name: "When", cell: ({ timestamp }) => <Time at={timestamp} isExact /> },
  { name: "Who", cell: (event) => <Text>{whoOf(event)}</Text> },
  {
    name: "What",
    cell: ({ type, risk_level, outcome }) => (
      <span className="flex flex-wrap items-center gap-x-2">
        <Text className="mono font-medium">{type}</Text>
        {risk_level !== undefined && <RiskBadge risk={risk_level} />}
        {outcome !== "info" && <StateBadge state={outcome} />}
      </span>
    ),
  },
  { name: "Target", wide: true, cell: ({ tool_name, refs }) => <Text>{tool_name ?? refs.run}</Text> },
  { name: "Summary", cell: ({ summary }) => <Text limit={300}>{plainSentence(summary)}</Text> },
];
const layout = "@5xl:grid-cols-[3.5rem_14rem_minmax(5rem,8rem)_minmax(10rem,18rem)_minmax(5rem,10rem)_minmax(0,1fr)]";

/** Arguments are not in the log: the search of the calls finds them. */
function ByArguments({ words }: { readonly words: string }): ReactNode {
  const { data } = useAnswer("GET /v1/calls", { search: words, limit: 3 });
  if (data === undefined) return null;
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-surface px-4 py-2 text-ink-2">
      Arguments are not in the log.
      {data.calls.length === 0 ? " No call has these words in its names or arguments." : " Calls with these words:"}
      {data.calls.map(({ call_id, tool, arrived_at }) => (
        <TextLink key={call_id} to="/calls/{-$call}" params={{ call: call_id }} search={{ search: words }}>
          <Text>{tool}</Text>, <Time at={arrived_at} />
        </TextLink>
      ))}
      {data.calls.length > 0 && (
        <TextLink to="/calls/{-$call}" params={{ call: undefined }} search={{ search: words }}>
          All of them
        </TextLink>
      )}
    </p>
  );
}

type IntegrityProps = Readonly<{
  size: number | undefined;
  /** The last check that Postern made by itself. */
  checked: CheckedView | undefined;
  where: Sent<"GET /v1/audit/count">;
  /** So many were read; undefined until the screen is full. */
  found: Answer<"GET /v1/audit/count"> | undefined;
  isNew: boolean;
  onLatest: () => void;
}>;

/** How long the log is, how much of it matches, whether it is intact, and its export. */
function Integrity({ size, checked, where, found, isNew, onLatest }: IntegrityProps): ReactNode {
  const may = useMay();
  const isFiltered = Object.keys(where).length > 0;
  const { data: counted } = useQuery({
    queryKey: ["fixed", "GET /v1/audit/count", where, size],
    queryFn: ({ signal }) => ask("GET /v1/audit/count", where, signal),
    enabled: isFiltered && found?.more === true, // else all were read
  });
  const matching = found?.more === true ? counted : found;
  const { data: last, refetch } = useQuery<CheckedView>({
    queryKey: ["audit-verified"],
    queryFn: async () => ({ ...(await ask("GET /v1/audit/verify")), at: new Date().toISOString() }),
    enabled: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY, // shown until the page is closed
  });
  const check = useMutation({ mutationFn: () => refetch({ throwOnError: true }) });
  const shown = last !== undefined && (checked === undefined || checked.at < last.at) ? last : checked;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-surface px-4 py-2">
      {size !== undefined && <span className="tabular text-ink-2">{number(size)} events in the log</span>}
      {isFiltered && matching !== undefined && (
        <span className="tabular font-medium" role="status">
          {matching.more ? "at least " : ""}
          {number(matching.count)} {matching.count === 1 && !matching.more ? "matches" : "match"}
        </span>
      )}
      {isFiltered &&
        may("audit:export") &&
        (["jsonl", "csv"] as const).map((format) => (
          <Export
            key={format}
            word={format.toUpperCase()}
            label={`Export what matches as ${format.toUpperCase()}`}
            path={`/v1/audit/export?${new URLSearchParams({ ...(where as Record<string, string>), format })}`} // all are texts
            fileName={`audit.${format}`}
          />
        ))}
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
        {may("audit:export") && <Export word="Export" path="/v1/audit/export" fileName="audit.log" />}
      </span>
    </div>
  );
}

type ExportProps = Readonly<{ word: string; label?: string; path: string; fileName: string }>;

function Export({ word, label, path, fileName }: ExportProps): ReactNode {
  const download = useMutation({
    mutationFn: () => save(path, fileName),
    onError: ({ message }) => toast(message, "bad"),
  });
  return (
    <Button size="small" icon="download" aria-label={label} busy={download.isPending} onClick={() => download.mutate()}>
      {word}
    </Button>
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
