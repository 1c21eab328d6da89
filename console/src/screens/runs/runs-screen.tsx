import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import type { RunPageView, RunView } from "../../../../src/server/contract/runs.ts";
import { get } from "../../api/client.ts";
import { Problem } from "../../api/problem.ts";
import { usePages, useReadOn } from "../../api/use-pages.ts";
import { Badge, type Tone } from "../../kit/badge.tsx";
import { classNames } from "../../kit/class-names.ts";
import { SearchField } from "../../kit/search-field.tsx";
import { EmptyState, NotYet, Skeleton } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { SplitView } from "../split-view.tsx";
import { Timeline } from "./timeline.tsx";

export function RunsScreen(): ReactNode {
  const { id } = useParams({ strict: false });
  return (
    <SplitView
      home="/runs"
      back="All runs"
      nothing={
        <EmptyState icon="runs" title="Choose a run">
          Every call of it is drawn in its time: what ran, what waited for people, what came of it.
        </EmptyState>
      }
      list={<RunList chosen={id} />}
      detail={id === undefined ? undefined : <Timeline key={id} runId={id} />}
    />
  );
}

function useRuns() {
  return usePages({
    queryKey: ["live", "runs"],
    read: (after, signal) => get<RunPageView>("/v1/runs", { query: { limit: 250, after }, signal }),
    rowsOf: runsOf,
    keyOf: idOf,
  });
}

function runsOf({ runs }: RunPageView): readonly RunView[] {
  return runs;
}

function idOf({ run_id }: RunView): string {
  return run_id;
}

function RunList({ chosen }: { readonly chosen: string | undefined }): ReactNode {
  const pages = useRuns();
  const { rows, error, again, more } = pages;
  const [words, setWords] = useState("");
  const found = useMemo(() => rows?.filter((run) => isWanted(run, words)), [rows, words]);
  const isSearching = useReadOn(found?.length === 0, pages);
  if (error instanceof Problem && error.code === "runs_off")
    return (
      <EmptyState icon="runs" title="No runs are kept here">
        Set <code className="mono">runs.enabled: true</code> in the configuration: each run then has a folder that a
        person can read.
      </EmptyState>
    );
  if (rows === undefined || found === undefined) return <NotYet error={error} again={again} rows={8} />;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <SearchField label="Search runs" placeholder="Run, agent, task or state" words={words} onChange={setWords} />
      {isSearching && <Skeleton rows={8} />}
      {!isSearching && found.length === 0 && (
        <EmptyState icon="runs" title={rows.length === 0 ? "No runs yet" : "No run matches"}>
          {rows.length === 0 && "The first call of an agent begins one."}
        </EmptyState>
      )}
      {found.length > 0 && (
        <div className="min-h-0 flex-1">
          <VirtualList
            label="Runs"
            rows={found}
            keyOf={idOf}
            estimate={72}
            selected={found.findIndex(({ run_id }) => run_id === chosen)}
            onEnd={more}
            row={(run) => <RunRow run={run} isChosen={run.run_id === chosen} />}
          />
        </div>
      )}
    </div>
  );
}

function isWanted({ run_id, principal, task_id, state }: RunView, words: string): boolean {
  const all = [run_id, principal?.agent, principal?.user, task_id, state].join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

const tones = new Map<string, Tone>([
  ["passed", "safe"],
  ["failed", "critical"],
  ["blocked", "high"],
  ["incomplete", "neutral"],
]);

function RunRow({ run, isChosen }: { readonly run: RunView; readonly isChosen: boolean }): ReactNode {
  const { counts, governance } = run;
  const running = Math.max(0, counts.started - counts.completed - counts.failed);
  const said = [
    [running, "running"] as const,
    [counts.completed, "done"] as const,
    [counts.failed, "failed"] as const,
    [counts.blocked, "refused"] as const,
    [counts.previewed, "previewed"] as const,
  ].flatMap(([count, word]) => (count > 0 ? [`${count.toLocaleString("en")} ${word}`] : []));
  return (
    <Link
      to={`/runs/${encodeURIComponent(run.run_id)}`}
      aria-current={isChosen ? "true" : undefined}
      className={classNames(
        "grid gap-1 border-b border-line px-4 py-2.5 -outline-offset-2",
        isChosen ? "bg-accent-tint" : "hover:bg-hover",
      )}
    >
      <span className="flex items-baseline justify-between gap-2">
        <Text className="mono truncate font-medium">{run.run_id}</Text>
        <span className="text-ink-3">
          <Time at={run.last_event_at} />
        </span>
      </span>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1 text-ink-2">
        <Text className="max-w-40 truncate">{run.principal?.agent ?? "nobody yet"}</Text>
        <span className="tabular text-ink-3 empty:hidden">{said.join(", ")}</span>
        {counts.waiting > 0 && <Badge tone="accent">{counts.waiting} waiting</Badge>}
        {run.state !== "running" && run.state !== "started" && (
          <Badge tone={tones.get(governance.result) ?? "neutral"}>{run.state}</Badge>
        )}
      </span>
    </Link>
  );
}
