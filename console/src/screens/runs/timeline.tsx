import type { Chain, TimelineCall, TimelinePage } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { useAnswer, useMay, usePages } from "../../api/index.ts";
import {
  Button,
  classNames,
  counted,
  duration,
  EmptyState,
  NotYet,
  number,
  Text,
  Toggle,
  useNow,
  VirtualList,
} from "../../kit/index.ts";
import { BrakeButton } from "../brakes.tsx";
import { CallRow, chainTool, hatched } from "./call-row.tsx";
import { compressedScale, ended, type Row, rowsOf, trueScale, wallTime } from "./waterfall.ts";

const route = getRouteApi("/runs/{-$run}");

/** One run as a waterfall: what was called, what waited for approval, how it ended. */
export function Timeline({ runId }: { readonly runId: string }): ReactNode {
  const sent = { id: runId, limit: 250 };
  const pages = usePages("GET /v1/runs/{id}/timeline", sent, { rowsOf: callsOf, keyOf: idOf });
  const { rows: calls, error, again, more, hasMore, isReading } = pages;
  if (calls === undefined) return <NotYet error={error} again={again} rows={10} />;
  if (calls.length === 0)
    return (
      <EmptyState icon="runs" title="No call in this run yet">
        Its calls are shown as they come.
      </EmptyState>
    );
  const earlier = hasMore ? { load: more, isLoading: isReading } : undefined;
  const View = calls.some(({ state }) => !ended.has(state)) ? GrowingWaterfall : Waterfall;
  return <View runId={runId} calls={calls} earlier={earlier} now={latestIn(calls)} />;
}

/** A script whose calls are on a later page comes with that page too. */
const callsOf = ({ calls, scripts = [] }: TimelinePage): readonly TimelineCall[] => [...scripts, ...calls];
const rowIdOf = ({ call }: Row): string => call.call_id;
const idOf = ({ call_id }: TimelineCall): string => call_id;

function latestIn(calls: readonly TimelineCall[]): number {
  return calls.reduce((latest, call) => Math.max(latest, Date.parse(call.ended_at ?? call.arrived_at)), 0);
}

/** The scripts of this run that have not ended, by their call. */
function useChains(runId: string, calls: readonly TimelineCall[]): ReadonlyMap<string, Chain> {
  const enabled = calls.some(({ tool }) => tool === chainTool);
  const { data } = useAnswer("GET /v1/chains", { run_id: runId, limit: 1_000 }, { enabled });
  return useMemo(() => new Map(data?.chains.map((chain) => [chain.call_id, chain] as const)), [data]);
}

interface WaterfallProps {
  readonly runId: string;
  readonly calls: readonly TimelineCall[];
  /** Calls before the first that is shown. */
  readonly earlier: { readonly load: () => void; readonly isLoading: boolean } | undefined;
  readonly now: number;
}

/** While a call has not ended, its bar grows. */
function GrowingWaterfall(props: WaterfallProps): ReactNode {
  return <Waterfall {...props} now={Math.max(useNow(), props.now)} />;
}

function Waterfall({ runId, calls, earlier, now }: WaterfallProps): ReactNode {
  const [isTrue, setIsTrue] = useState(false);
  const { call: open } = route.useSearch();
  const navigate = route.useNavigate();
  const maySettle = useMay()("calls:settle");
  const rows = useMemo(() => rowsOf(calls, now), [calls, now]);
  const scale = useMemo(() => (isTrue ? trueScale(rows) : compressedScale(rows)), [isTrue, rows]);
  const chains = useChains(runId, calls);
  const toggle = useCallback(
    (id: string) =>
      void navigate({ to: ".", search: (now) => ({ ...now, call: now.call === id ? undefined : id }), replace: true }),
    [navigate],
  );
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
          keyOf={rowIdOf}
          estimate={44}
          selected={open === undefined ? undefined : rows.findIndex((row) => rowIdOf(row) === open)}
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

type HeadProps = Readonly<{
  runId: string;
  rows: readonly Row[];
  isAll: boolean;
  isTrue: boolean;
  onScale: (isTrue: boolean) => void;
}>;

function Head({ runId, rows, isAll, isTrue, onScale }: HeadProps): ReactNode {
  const runningMs = rows.reduce((total, row) => total + (row.isScript ? 0 : row.runningMs), 0);
  const waitingMs = wallTime(rows, "person");
  const unknown = rows.filter(({ call }) => call.state === "unknown").length;
  const { data: run } = useAnswer("GET /v1/runs/{id}", { id: runId });
  return (
    <header className="grid gap-2 border-b border-line bg-surface px-4 py-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="min-w-0 truncate text-[1.0714rem] font-semibold">
          <Text className="mono">{runId}</Text>
        </h2>
        <fieldset className="flex rounded-md border border-line-strong p-0.5">
          <legend className="sr-only">Scale of time</legend>
          <Toggle isOn={!isTrue} onClick={() => onScale(false)}>
            Compressed
          </Toggle>
          <Toggle isOn={isTrue} onClick={() => onScale(true)}>
            True time
          </Toggle>
        </fieldset>
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-[0.9286rem] text-ink-2">
        <span className="tabular">
          {isAll ? "" : "the latest "}
          {counted(rows.length, "call")}
        </span>
        <Legend look="bg-ink-2" word={`executing ${duration(runningMs)}`} />
        {waitingMs > 0 && <Legend look={hatched} word={`waiting for approval ${duration(waitingMs)}`} />}
        {unknown > 0 && <span className="font-medium text-medium">{number(unknown)} with unknown outcome</span>}
        <span className="ml-auto flex gap-1.5">
          {run?.principal !== undefined && <BrakeButton kind="agent" name={run.principal.agent} />}
          <BrakeButton kind="run" name={runId} />
        </span>
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
