import type { RunPageView, RunView } from "@postern/core/contract";
import { useParams } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { Problem, usePages, useReadOn } from "../../api/index.ts";
import { Badge, EmptyState, NotYet, number, RowLink, StateBadge, Text, Time } from "../../kit/index.ts";
import { hasWords, SearchList, SplitView } from "../split-view.tsx";
import { Timeline } from "./timeline.tsx";

export function RunsScreen(): ReactNode {
  const { id } = useParams({ strict: false });
  return (
    <SplitView
      home="/runs"
      back="All runs"
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

function RunList({ chosen }: { readonly chosen: string | undefined }): ReactNode {
  const pages = usePages("GET /v1/runs", { limit: 250 }, { rowsOf: runsOf, keyOf: idOf });
  const { rows, error, again, more } = pages;
  const [words, setWords] = useState("");
  const found = useMemo(() => rows?.filter((run) => isFound(run, words)), [rows, words]);
  const isSearching = useReadOn(found?.length === 0, pages);
  if (error instanceof Problem && error.code === "runs_off")
    return (
      <EmptyState icon="runs" title="Run folders are off">
        Set <code className="mono">runs.enabled: true</code> in the configuration: each run then has a folder.
      </EmptyState>
    );
  if (rows === undefined || found === undefined) return <NotYet error={error} again={again} rows={8} />;
  return (
    <SearchList
      label="Runs"
      placeholder="Run, agent, task or state"
      words={words}
      onWords={setWords}
      isReading={isSearching}
      nothing={
        <EmptyState icon="runs" title={rows.length === 0 ? "No runs yet" : "No run matches"}>
          {rows.length === 0 && "The first call of an agent begins one."}
        </EmptyState>
      }
      rows={found}
      keyOf={idOf}
      estimate={72}
      selected={found.findIndex((run) => idOf(run) === chosen)}
      onEnd={more}
      row={(run) => <RunRow run={run} isChosen={idOf(run) === chosen} />}
    />
  );
}

function isFound({ run_id, principal, task_id, state }: RunView, words: string): boolean {
  return hasWords([run_id, principal?.agent, principal?.user, task_id, state], words);
}

function RunRow({ run, isChosen }: { readonly run: RunView; readonly isChosen: boolean }): ReactNode {
  const { counts, governance } = run;
  const outcomes: readonly (readonly [count: number, word: string])[] = [
    [Math.max(0, counts.started - counts.completed - counts.failed), "running"],
    [counts.completed, "done"],
    [counts.failed, "failed"],
    [counts.blocked, "refused"],
    [counts.previewed, "previewed"],
  ];
  return (
    <RowLink to={`/runs/${encodeURIComponent(run.run_id)}`} isChosen={isChosen}>
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
        {counts.waiting > 0 && <Badge tone="accent">{counts.waiting} waiting</Badge>}
        {run.state !== "running" && run.state !== "started" && (
          <StateBadge state={governance.result} word={run.state} />
        )}
      </span>
    </RowLink>
  );
}
