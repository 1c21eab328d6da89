import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import type { TimelinePage } from "../../../../src/server/contract/runs.ts";
import { get } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { classNames } from "../../kit/class-names.ts";
import { EmptyState, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { duration } from "../../kit/time.tsx";
import { useNow } from "../../kit/use-now.ts";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { CallRow } from "./call-row.tsx";
import { useChains } from "./chains.ts";
import { hatched } from "./looks.ts";
import { compressedScale, type Row, rowsOf, trueScale, wallTime } from "./waterfall.ts";

/** One run as a waterfall: what was called, who was waited for, what came of it. */
export function Timeline({ runId }: { readonly runId: string }): ReactNode {
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["live", "timeline", runId],
    queryFn: ({ pageParam }) =>
      get<TimelinePage>(`/v1/runs/${encodeURIComponent(runId)}/timeline`, { query: { limit: 250, before: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_before }) => next_before,
  });
  const calls = useMemo(() => data && callsOf(data.pages), [data]);
  const isRunning = calls?.some(({ state }) => !["ok", "failed", "denied", "refused", "unknown"].includes(state));
  if (calls === undefined) return <NotYet error={error} again={refetch} rows={10} />;
  if (calls.length === 0)
    return (
      <EmptyState icon="runs" title="Nothing was called in this run">
        Its calls stand here as they come.
      </EmptyState>
    );
  const earlier = hasNextPage ? { load: () => void fetchNextPage(), isLoading: isFetchingNextPage } : undefined;
  const Drawn = isRunning === true ? Ticking : Waterfall;
  return <Drawn runId={runId} calls={calls} earlier={earlier} now={latestIn(calls)} />;
}

/** Each once: a script that made calls of a later page comes with that page too. */
function callsOf(pages: readonly TimelinePage[]): TimelinePage["calls"] {
  const all = pages.flatMap(({ calls, scripts = [] }) => [...scripts, ...calls]);
  return [...new Map(all.map((call) => [call.call_id, call])).values()];
}

interface DrawnProps {
  readonly runId: string;
  readonly calls: TimelinePage["calls"];
  /** Calls before the first that is shown. */
  readonly earlier: { readonly load: () => void; readonly isLoading: boolean } | undefined;
  readonly now: number;
}

/** While something goes on, its bar grows. */
function Ticking(props: DrawnProps): ReactNode {
  return <Waterfall {...props} now={Math.max(useNow(), props.now)} />;
}

function latestIn(calls: TimelinePage["calls"]): number {
  return calls.reduce((latest, call) => Math.max(latest, Date.parse(call.ended_at ?? call.arrived_at)), 0);
}

function Waterfall({ runId, calls, earlier, now }: DrawnProps): ReactNode {
  const [isTrue, setIsTrue] = useState(false);
  const [open, setOpen] = useState<string>();
  const maySettle = useMay()("calls:settle");
  const rows = useMemo(() => rowsOf(calls, now), [calls, now]);
  const scale = useMemo(() => (isTrue ? trueScale(rows) : compressedScale(rows)), [isTrue, rows]);
  const chains = useChains(runId, calls);
  const toggle = useCallback((id: string) => setOpen((was) => (was === id ? undefined : id)), []);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Head runId={runId} rows={rows} isAll={earlier === undefined} isTrue={isTrue} onScale={setIsTrue} />
      {earlier !== undefined && (
        <div className="border-b border-line bg-surface px-4 py-2 text-center">
          <Button size="small" busy={earlier.isLoading} onClick={earlier.load}>
            Load earlier calls
          </Button>
        </div>
      )}
      <div className="min-h-0 flex-1 bg-surface">
        <VirtualList
          label="Calls of this run"
          rows={rows}
          keyOf={({ call }) => call.call_id}
          estimate={44}
          row={(row) => (
            <CallRow
              row={row}
              scale={scale}
              chain={chains.get(row.call.call_id)}
              isOpen={open === row.call.call_id}
              onToggle={toggle}
              maySettle={maySettle}
            />
          )}
        />
      </div>
    </div>
  );
}

function Head({
  runId,
  rows,
  isAll,
  isTrue,
  onScale,
}: {
  readonly runId: string;
  readonly rows: readonly Row[];
  readonly isAll: boolean;
  readonly isTrue: boolean;
  readonly onScale: (isTrue: boolean) => void;
}): ReactNode {
  const runningMs = rows.reduce((total, row) => total + (row.isScript ? 0 : row.runningMs), 0);
  const waitingMs = wallTime(rows, "person");
  const unknown = rows.filter(({ call }) => call.state === "unknown").length;
  return (
    <header className="grid gap-2 border-b border-line bg-surface px-4 py-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="min-w-0 truncate text-[1.0714rem] font-semibold">
          <Text className="mono">{runId}</Text>
        </h2>
        <fieldset className="flex rounded-md border border-line-strong p-0.5">
          <legend className="sr-only">Scale of time</legend>
          {[false, true].map((value) => (
            <button
              key={String(value)}
              type="button"
              aria-pressed={isTrue === value}
              onClick={() => onScale(value)}
              title={
                value ? "An hour is as wide as sixty minutes" : "Long stretches drawn short; the numbers are exact"
              }
              className={classNames(
                "rounded px-2 py-0.5 text-[0.8571rem] max-sm:px-3 max-sm:py-2",
                isTrue === value ? "bg-accent-tint font-medium text-accent" : "text-ink-2 hover:text-ink",
              )}
            >
              {value ? "True time" : "Compressed"}
            </button>
          ))}
        </fieldset>
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-[0.9286rem] text-ink-2">
        <span className="tabular">
          {isAll ? "" : "the latest "}
          {rows.length.toLocaleString("en")} call{rows.length === 1 ? "" : "s"}
        </span>
        <Legend look="bg-ink-2" word={`executing ${duration(runningMs)}`} />
        {waitingMs > 0 && <Legend look={hatched} word={`waiting for people ${duration(waitingMs)}`} />}
        {unknown > 0 && <span className="font-medium text-medium">{unknown} with unknown outcome</span>}
      </div>
    </header>
  );
}

function Legend({ look, word }: { readonly look: string; readonly word: string }): ReactNode {
  return (
    <span className="tabular inline-flex items-center gap-1.5">
      <span aria-hidden="true" className={classNames("h-2.5 w-4 rounded-sm", look)} />
      {word}
    </span>
  );
}
