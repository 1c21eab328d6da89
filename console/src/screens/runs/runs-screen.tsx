import type { RunPageView, RunView } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { Problem, useAnswer, usePages, useReadOn } from "../../api/index.ts";
import {
  BackLink,
  Badge,
  EmptyState,
  NotYet,
  number,
  RowLink,
  StateBadge,
  stateWord,
  Text,
  Time,
} from "../../kit/index.ts";
import { hasWords, SearchList, SplitView } from "../split-view.tsx";
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

function RunList({ chosen }: { readonly chosen: string | undefined }): ReactNode {
  const pages = usePages("GET /v1/runs", { limit: 250 }, { rowsOf: runsOf, keyOf: idOf });
  const { rows, error, again, more } = pages;
  const { search: words } = route.useSearch();
  const navigate = route.useNavigate();
  const unknown = useUnknown();
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
      onWords={(search) => void navigate({ to: ".", search: (now) => ({ ...now, search }), replace: true })}
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
      row={(run) => (
        <RunRow run={run} unknown={unknown.get(idOf(run)) ?? 0} words={words} isChosen={idOf(run) === chosen} />
      )}
    />
  );
}

/** The counts of a run have its unknown calls among the failed ones. */
function useUnknown(): ReadonlyMap<string, number> {
  const { data } = useAnswer("GET /v1/calls", { state: "unknown", limit: 1_000 });
  return useMemo(() => {
    const found = new Map<string, number>();
    for (const { run_id } of data?.calls ?? []) found.set(run_id, (found.get(run_id) ?? 0) + 1);
    return found;
  }, [data]);
}

function isFound({ run_id, principal, task_id, state }: RunView, words: string | undefined): boolean {
  return hasWords([run_id, principal?.agent, principal?.user, task_id, state], words);
}

type RunRowProps = Readonly<{
  run: RunView;
  /** So many of its calls have an unknown outcome. */
  unknown: number;
  words: string | undefined;
  isChosen: boolean;
}>;

function RunRow({ run, unknown, words, isChosen }: RunRowProps): ReactNode {
  const { counts, governance } = run;
  const outcomes: readonly (readonly [count: number, word: string])[] = [
    [Math.max(0, counts.started - counts.completed - counts.failed), stateWord("attempted")],
    [counts.completed, stateWord("ok")],
    [Math.max(0, counts.failed - unknown), stateWord("failed")],
    [unknown, stateWord("unknown")],
    [counts.blocked, stateWord("refused")],
    [counts.previewed, "previewed"],
  ];
  return (
    <RowLink to="/runs/{-$run}" params={{ run: run.run_id }} search={{ search: words }} isChosen={isChosen}>
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
    </RowLink>
  );
}
