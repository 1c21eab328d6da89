import { autonomies, risks } from "@postern/core";
import type { EffectiveLineView, StatisticsView } from "@postern/core/contract";
import { useQueries } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { type RangeName, rangeNames } from "../../address.ts";
import { type ApprovalView, ask, type Sent, serverNow, useControls, useMay } from "../../api/index.ts";
import {
  type Bar,
  Bars,
  Button,
  Card,
  type Column,
  duration,
  EmptyState,
  maybeDuration,
  NotYet,
  number,
  RiskBadge,
  type Series,
  stateWord,
  Table,
  Text,
  TextLink,
  Time,
  TimeLeft,
  Toggle,
  useIsOver,
} from "../../kit/index.ts";
import { useLiveState } from "../../live/feed.ts";
import { totalOf, useRequests, useWaiting } from "../approvals/requests.ts";
import { ReasonDialog, type WithReason } from "../dialogs.tsx";
import { ranges, useStatistics } from "../tools/use-tools.ts";

const outcomes = ["ok", "refused", "asked", "previewed", "unknown", "failed"] as const;
const tones = ["safe", "high", "accent", "neutral", "medium", "critical"] as const;
const words = { asked: "needs approval", previewed: "preview" } as const;
const series: readonly Series[] = outcomes.map((name, at) => ({
  name: name === "asked" || name === "previewed" ? words[name] : stateWord(name),
  tone: tones[at] ?? "neutral",
}));
const worstFirst = risks.toReversed();
const route = getRouteApi("/overview");

export function OverviewScreen(): ReactNode {
  const { range = "day" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch } = useStatistics(range);
  const { word, unit } = ranges[range];
  // The first hour of a range counts whole.
  const during =
    range === "hour" && data !== undefined
      ? `since ${new Date(data.from).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`
      : `in the ${word}`;
  return (
    <div className="mx-auto grid max-w-6xl gap-4 p-4 lg:grid-cols-2 lg:p-6">
      <Waiting />
      <ControlsCard />
      <fieldset className="flex flex-wrap gap-1 lg:col-span-2">
        <legend className="sr-only">Range of the numbers below</legend>
        {rangeNames.map((name) => (
          <Toggle
            key={name}
            isOn={name === range}
            onClick={() => void navigate({ to: ".", search: { range: name }, replace: true })}
          >
            {`The ${ranges[name].word}`}
          </Toggle>
        ))}
      </fieldset>
      {data === undefined && <NotYet error={error} again={refetch} />}
      {data !== undefined && (
        <>
          <Card title={`Calls ${unit}, in the ${word}`} className="lg:col-span-2" body="">
            <CallsOverTime statistics={data} range={range} />
          </Card>
          <Card title={`Tools by calls ${during}`} className="lg:col-span-2">
            <CallTable
              lines={data.tools}
              nameOf={({ tool }) => tool}
              first="Tool"
              nothing={`No tool has been called ${during}`}
            />
          </Card>
          <Card title={`Agents by calls ${during}`} className="lg:col-span-2">
            <CallTable
              lines={data.agents}
              nameOf={({ agent }) => agent}
              first="Agent"
              nothing={`No agent has called a tool ${during}`}
            />
          </Card>
          <Card title={`Decisions ${during}`} className="lg:col-span-2" body="grid gap-2">
            <Decisions statistics={data} during={during} />
          </Card>
        </>
      )}
    </div>
  );
}

function Waiting(): ReactNode {
  const first = useRequests({}).rows?.[0];
  const waiting = useWaiting();
  const total = waiting && totalOf(waiting);
  const isAway = useLiveState() === "reconnecting";
  return (
    <Card title="Waiting for approval" body="grid gap-3">
      <p className="flex items-baseline gap-2">
        <span className="tabular text-[2.2857rem] leading-none font-semibold tracking-tight">
          {total === undefined ? "…" : number(total)}
        </span>
        <span className="text-ink-2">{total === 1 ? "request" : "requests"}</span>
      </p>
      <ul aria-label="By risk" className="flex flex-wrap gap-x-4 gap-y-1.5 empty:hidden">
        {worstFirst
          .filter((risk) => waiting !== undefined && waiting[risk] > 0)
          .map((risk) => (
            <li key={risk} className="flex items-center gap-1.5">
              <RiskBadge risk={risk} /> <span className="tabular text-ink-2">{number(waiting?.[risk] ?? 0)}</span>
            </li>
          ))}
      </ul>
      <p className="text-ink-2">
        {first !== undefined && <First approval={first} />}
        {first === undefined && (isAway ? "What waits now is not known." : "Nothing waits for you.")}
      </p>
    </Card>
  );
}

function First({ approval: { approval_id, what, expires_at } }: { readonly approval: ApprovalView }): ReactNode {
  const isOver = useIsOver(expires_at);
  return (
    <>
      <TextLink to="/approvals/{-$request}" params={{ request: approval_id }}>
        <Text>{what.tool}</Text>
      </TextLink>{" "}
      is next: {isOver ? "it has expired" : "it expires in "}
      {!isOver && <TimeLeft until={expires_at} />}.
    </>
  );
}

type CallsOverTimeProps = Readonly<{ statistics: StatisticsView; range: RangeName }>;

function CallsOverTime({ statistics, range }: CallsOverTimeProps): ReactNode {
  const bars = barsOf(statistics, range);
  const { unit, word } = ranges[range];
  const total = bars.flatMap(({ values }) => values).reduce((sum, one) => sum + one, 0);
  if (total === 0) return <EmptyState icon="overview" title={`No call in the ${word}`} />;
  return <Bars label={`Calls ${unit} by outcome: ${number(total)} in the ${word}`} series={series} bars={bars} />;
}

/** Every period of the range, those without a call too. */
function barsOf({ minutes, periods }: StatisticsView, range: RangeName): readonly Bar[] {
  const { count, eachMs } = ranges[range];
  const found = new Map(
    (range === "hour" ? minutes : periods).map((one) => [Math.floor(Date.parse(one.at) / eachMs), one]),
  );
  const last = Math.floor(serverNow() / eachMs);
  const format: Intl.DateTimeFormatOptions =
    eachMs < 86_400_000
      ? { hour: "2-digit", minute: "2-digit", ...(range === "day" && { weekday: "short" }) }
      : { day: "numeric", month: "short", timeZone: "UTC" };
  return Array.from({ length: count }, (_, at) => {
    const period = last - count + 1 + at;
    const name = new Date(period * eachMs).toLocaleString("en-GB", format);
    return { name, values: outcomes.map((outcome) => found.get(period)?.[outcome] ?? 0) };
  });
}

type CallLine = Omit<StatisticsView["agents"][number], "agent">;

const count = (value: number, look: string): ReactNode =>
  value === 0 ? "–" : <span className={look}>{number(value)}</span>;
const callColumns: readonly Column<CallLine>[] = [
  { name: "Ran", align: "right", cell: ({ calls }) => number(calls) },
  { name: "Needed approval", align: "right", wide: true, cell: ({ asked }) => count(asked, "") },
  { name: "Failed", align: "right", cell: ({ errors }) => count(errors, "text-critical") },
  { name: "Unknown", align: "right", wide: true, cell: ({ unknown }) => count(unknown, "text-medium") },
  { name: "Blocked", align: "right", wide: true, cell: ({ refused }) => count(refused, "text-high") },
  { name: "p95", align: "right", cell: ({ p95_ms }) => maybeDuration(p95_ms) },
];

const arrivals = ({ calls, refused, asked }: CallLine): number => calls + refused + asked;

type CallTableProps<Line extends CallLine> = Readonly<{
  lines: readonly Line[];
  nameOf: (line: Line) => string;
  /** The heading of the names. */
  first: string;
  nothing: string;
}>;

function CallTable<Line extends CallLine>({ lines, nameOf, first, nothing }: CallTableProps<Line>): ReactNode {
  if (lines.length === 0) return <EmptyState icon="tools" title={nothing} />;
  const busiest = [...lines].sort((a, b) => arrivals(b) - arrivals(a)).slice(0, 10);
  const columns: readonly Column<Line>[] = [
    { name: first, cell: (line) => <Text>{nameOf(line)}</Text> },
    ...callColumns,
  ];
  const keyOf = (line: Line): string => ("action" in line ? `${nameOf(line)} ${line.action}` : nameOf(line));
  return <Table label={`${first}s, the busiest first`} rows={busiest} keyOf={keyOf} columns={columns} />;
}

type DeciderLine = StatisticsView["deciders"][number];

const deciderColumns: readonly Column<DeciderLine>[] = [
  { name: "By", cell: ({ decider }) => <Text>{decider}</Text> },
  { name: "Approved", align: "right", cell: ({ approved }) => count(approved, "") },
  { name: "Denied", align: "right", cell: ({ denied }) => count(denied, "") },
  { name: "Skipped", align: "right", wide: true, cell: ({ skipped }) => count(skipped, "") },
  { name: "Half within", align: "right", cell: ({ p50_ms }) => maybeDuration(p50_ms) },
];

/** How requests ended, and how long agents waited for a person. */
function Decisions({ statistics, during }: Readonly<{ statistics: StatisticsView; during: string }>): ReactNode {
  const { decisions, deciders } = statistics;
  const ends = ["approved", "denied", "skipped", "expired", "withdrawn"] as const;
  const given = ends.filter((end) => decisions[end] > 0);
  if (given.length === 0) return <EmptyState icon="clock" title={`No decision ${during}`} />;
  return (
    <>
      <p>
        {given.map((end) => `${number(decisions[end])} ${end}`).join(", ")}.
        {decisions.p50_ms !== undefined && (
          <>
            {" "}
            Half of the decisions came within{" "}
            <strong className="tabular font-semibold">{duration(decisions.p50_ms)}</strong>, 95 % within{" "}
            {maybeDuration(decisions.p95_ms)}.
          </>
        )}
      </p>
      {deciders.length > 0 && (
        <Table label="Who decided" rows={deciders} keyOf={({ decider }) => decider} columns={deciderColumns} />
      )}
    </>
  );
}

type Level = Sent<"POST /v1/controls/autonomy">["level"];

/** What the policy decides about each tool at each level; read again when the screen is opened. */
function useMeanings(): ReadonlyMap<Level, string> {
  const may = useMay()("policy:read");
  const answers = useQueries({
    queries: autonomies.map((autonomy) => ({
      queryKey: ["effective", autonomy],
      queryFn: () => ask("GET /v1/policy", { agent: "local-agent", autonomy }),
      enabled: may,
    })),
  });
  const found = autonomies.flatMap((level, at) => {
    const lines = answers[at]?.data?.lines;
    return lines ? [[level, meaningOf(lines)] as const] : [];
  });
  return new Map(found);
}

const verdictWords = [
  ["ALLOW", "run", "runs"],
  ["CONFIRM", "need approval", "needs approval"],
  ["PREVIEW", "show a preview", "shows a preview"],
  ["BLOCK", "are blocked", "is blocked"],
  ["DENY", "are denied", "is denied"],
] as const;

/** `3 run, 1 needs approval`: of the tools that there are. */
function meaningOf(lines: readonly EffectiveLineView[]): string {
  if (lines.length === 0) return "there are no tools";
  const counted = verdictWords.flatMap(([verdict, many, one]) => {
    const count = lines.filter((line) => line.verdict === verdict).length;
    return count === 0 ? [] : [`${number(count)} ${count === 1 ? one : many}`];
  });
  return counted.join(", ");
}

/** A change that applies to all agents, and the words of its dialog. */
interface Change {
  readonly title: string;
  readonly word: string;
  readonly look?: "danger";
  readonly text: string;
  readonly onSend: (reason: WithReason) => Promise<unknown>;
  readonly done: string;
}

const pause: Change = {
  title: "Stop all calls?",
  word: "Stop all calls",
  look: "danger",
  text: "Every call of every agent is refused at once; those that run now finish. Requests stay and can be decided.",
  onSend: (reason) => ask("POST /v1/controls/pause", reason),
  done: "Every call is refused now.",
};
const resume: Change = {
  title: "Resume calls?",
  word: "Resume calls",
  text: "The policy decides about calls again.",
  onSend: (reason) => ask("POST /v1/controls/resume", reason),
  done: "The policy decides about calls again.",
};
const setLevel = (level: Level): Change => ({
  title: `Autonomy ${level} for all agents?`,
  word: `Set ${level}`,
  text: "It applies to new calls. A lower level also applies to calls that wait and to approved ones; a higher level does not release them.",
  onSend: (reason) => ask("POST /v1/controls/autonomy", { level, ...reason }),
  done: `Autonomy is ${level} from the next call on.`,
});

/** The autonomy of all agents, and the pause. */
function ControlsCard(): ReactNode {
  const controls = useControls();
  const may = useMay();
  const [change, setChange] = useState<Change>();
  const meanings = useMeanings();
  if (controls === undefined) return null;
  const { paused, paused_by: by, autonomy } = controls;
  const isOperator = may("controls:write");
  const pauseButton = isOperator && (
    <Button
      look={paused ? "primary" : "danger"}
      size="small"
      icon={paused ? "play" : "pause"}
      onClick={() => setChange(paused ? resume : pause)}
    >
      {paused ? "Resume calls…" : "Stop all calls…"}
    </Button>
  );
  return (
    <Card title="What agents may do" actions={pauseButton} body="grid gap-3">
      {paused && <p className="font-medium text-critical">Paused: every call is refused until calls are resumed.</p>}
      {by !== undefined && (
        <p className="text-ink-2">
          By <Text>{by.by}</Text>, <Time at={by.at} />
          {by.reason !== undefined && <Text>{`: ${by.reason}`}</Text>}
        </p>
      )}
      <fieldset className="grid gap-1">
        <legend className="sr-only">Autonomy</legend>
        {meanings.size > 0 && (
          <p className="px-2 text-ink-2">At each level of autonomy, of the tools that there are:</p>
        )}
        {autonomies.map((level) => (
          <button
            key={level}
            type="button"
            aria-pressed={level === autonomy}
            disabled={!isOperator || level === autonomy}
            onClick={() => setChange(setLevel(level))}
            className="flex items-center gap-3 rounded-md px-2 py-1 text-left text-ink-2 enabled:hover:bg-hover aria-pressed:bg-accent-tint aria-pressed:font-medium aria-pressed:text-accent"
          >
            <span className="tabular w-6">{level}</span> {meanings.get(level)}
          </button>
        ))}
      </fieldset>
      {autonomy === null && <p className="text-ink-2">No level is set: each agent's own threshold decides.</p>}
      {change !== undefined && (
        <ReasonDialog {...change} onClose={() => setChange(undefined)}>
          <p>{change.text}</p>
        </ReasonDialog>
      )}
    </Card>
  );
}
