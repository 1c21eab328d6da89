import type { RunPageView, RunView } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { Problem, usePages, useReadOn } from "../../api/index.ts";
import {
  BackLink,
  Badge,
  EmptyState,
  type Filter,
  FilterBar,
  FilterTable,
  number,
  StateBadge,
  stateWord,
  Text,
  Time,
  useFilters,
} from "../../kit/index.ts";
import { hasWords, SplitView } from "../split-view.tsx";
import { Timeline } from "./timeline.tsx";

const route = getRouteApi("/runs/{-$run}");

export function RunsScreen(): ReactNode {
  const { run: id } = route.useParams();
  const { search } = route.useSearch();
  return (
    <SplitView
      back={
        <BackLink to="/runs/{-$run}" params={{ run: undefined }} search={{ search }}>
          All runs
        </BackLink>
      }
      nothing={
        <EmptyState icon="runs" title="Choose a run">
          Each of its calls is drawn over time: what ran, what waited for approval, how it ended.
        </EmptyState>
      }
      list={<RunList chosen={id} />}
      detail={id && <Timeline key={id} runId={id} />}
    />
  );
}

const runsOf = ({ runs }: RunPageView): readonly RunView[] => runs;
const idOf = ({ run_id }: RunView): string => run_id;

const filters: readonly Filter[] = [{ name: "search", label: "Search runs", placeholder: "Run, agent, task or state" }];

function RunList({ chosen }: { readonly chosen: string | undefined }): ReactNode {
  const pages = usePages("GET /v1/runs", { limit: 250 }, { rowsOf: runsOf, keyOf: idOf });
  const { rows, error } = pages;
  const { search: words } = route.useSearch();
  const found = useMemo(() => rows?.filter((run) => isFound(run, words)), [rows, words]);
  useReadOn(found?.length === 0, pages);
  if (error instanceof Problem && error.code === "runs_off")
    return (
      <EmptyState icon="runs" title="Run folders are off">
        Set <code className="mono">runs.enabled: true</code> in the configuration: each run then has a folder.
      </EmptyState>
    );
  return (
    <>
      <FilterBar {...useFilters()} filters={filters} />
      <FilterTable
        label="Runs"
        pages={{ ...pages, rows: found }}
        keyOf={idOf}
        estimate={72}
        chosen={chosen}
        link={(run) => ({ to: "/runs/{-$run}", params: { run: idOf(run) }, search: { search: words } })}
        row={(run) => <RunRow run={run} />}
        nothing={
          <EmptyState icon="runs" title={rows?.length === 0 ? "No runs yet" : "No run matches"}>
            {rows?.length === 0 && "The first call of an agent begins one."}
          </EmptyState>
        }
      />
    </>
  );
}

function isFound({ run_id, principal, task_id, state }: RunView, words: string | undefined): boolean {
  return hasWords([run_id, principal?.agent, principal?.user, task_id, state], words);
}

function RunRow({ run }: { readonly run: RunView }): ReactNode {
  const { counts, governance } = run;
  const { unknown = 0 } = counts; // among the failed ones
  const outcomes: readonly (readonly [count: number, word: string])[] = [
    [Math.max(0, counts.started - counts.completed - counts.failed), stateWord("attempted")],
    [counts.completed, stateWord("ok")],
    [Math.max(0, counts.failed - unknown), stateWord("failed")],
    [unknown, stateWord("unknown")],
    [counts.blocked, stateWord("refused")],
    [counts.previewed, "previewed"],
  ];
  return (
    <>
      <span className="flex items-baseline justify-between gap-2">
        <Text className="mono truncate font-medium">{run.run_id}</Text>
        <span className="text-ink-3">
          <Time at={run.last_event_at} />
        </span>
      </span>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1 text-ink-2">
        <Text className="max-w-40 truncate">{run.principal?.agent ?? "no agent yet"}</Text>
        <span className="tabular text-ink-3 empty:hidden">
          {outcomes
            .filter(([count]) => count > 0)
            .map(([count, word]) => `${number(count)} ${word}`)
            .join(", ")}
        </span>
        {counts.waiting > 0 && <Badge tone="accent">{number(counts.waiting)} waiting</Badge>}
        {counts.waiting === 0 && run.state !== "running" && run.state !== "started" && (
          <StateBadge state={run.state} title={governance.reasons.map(({ message }) => message).join(" ")} />
        )}
      </span>
    </>
  );
}
