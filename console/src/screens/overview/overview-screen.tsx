import { risks } from "@postern/core";
import type { AuditEventView, Statistics } from "@postern/core/contract";
import { type ReactNode, useState } from "react";
import { type ApprovalView, ask, type Sent, serverNow, useAnswer, useControls, useMay } from "../../api/index.ts";
import {
  type Bar,
  Bars,
  Button,
  Card,
  type Column,
  counted,
  duration,
  EmptyState,
  maybeDuration,
  NotYet,
  number,
  RiskBadge,
  type Series,
  Table,
  Text,
  TextLink,
  Time,
  TimeLeft,
  useIsOver,
} from "../../kit/index.ts";
import { useLiveState } from "../../live/feed.ts";
import { totalOf, useInbox, useWaiting } from "../approvals/inbox.ts";
import { ReasonDialog, type WithReason } from "../dialogs.tsx";
import { useStatistics } from "../tools/use-tools.ts";

const outcomes = ["ok", "refused", "previewed", "unknown", "failed"] as const;
const tones = ["safe", "high", "neutral", "medium", "critical"] as const;
const series: readonly Series[] = outcomes.map((name, at) => ({ name, tone: tones[at] ?? "neutral" }));
const worstFirst = risks.toReversed();

export function OverviewScreen(): ReactNode {
  const { data, error, refetch } = useStatistics();
  if (data === undefined) return <NotYet error={error} again={refetch} />;
  // Calls are counted in memory, from the start on.
  const isWholeHour = data.since !== undefined && Date.parse(data.since) <= serverNow() - 3_600_000;
  const span = isWholeHour ? "in the last hour" : "since the start";
  return (
    <div className="mx-auto grid max-w-6xl gap-4 p-4 lg:grid-cols-2 lg:p-6">
      <Waiting />
      <WaitingTimes />
      <Card title={`Calls a minute, ${span}`} className="lg:col-span-2" body="">
        <CallsPerMinute minutes={data.minutes} span={span} />
      </Card>
      <Card title="Tools by calls since the start">
        <ToolTable tools={data.tools} />
      </Card>
      <ControlsCard />
    </div>
  );
}

function Waiting(): ReactNode {
  const [first] = useInbox().approvals;
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
              <RiskBadge risk={risk} /> <span className="tabular text-ink-2">{waiting?.[risk]}</span>
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
      <TextLink to={`/approvals/${approval_id}`}>
        <Text>{what.tool}</Text>
      </TextLink>{" "}
      is next: {isOver ? "it has expired" : "it expires in "}
      {!isOver && <TimeLeft until={expires_at} />}.
    </>
  );
}

function CallsPerMinute({ minutes, span }: Readonly<{ minutes: Statistics["minutes"]; span: string }>): ReactNode {
  const bars = lastHour(minutes);
  const total = bars.flatMap(({ values }) => values).reduce((sum, one) => sum + one, 0);
  if (total === 0) return <EmptyState icon="overview" title={`No call ${span}`} />;
  const label = `Calls a minute by outcome: ${total} ${span}`;
  return <Bars label={label} series={series} bars={bars} />;
}

/** Sixty minutes, those without a call too. */
function lastHour(minutes: Statistics["minutes"]): readonly Bar[] {
  const found = new Map(minutes.map((minute) => [Math.floor(Date.parse(minute.at) / 60_000), minute]));
  const now = Math.floor(serverNow() / 60_000);
  return Array.from({ length: 60 }, (_, at) => {
    const minute = now - 59 + at;
    const name = new Date(minute * 60_000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    return { name, values: outcomes.map((outcome) => found.get(minute)?.[outcome] ?? 0) };
  });
}

type ToolLine = Statistics["tools"][number];

const count = (value: number, look: string): ReactNode => (value === 0 ? "–" : <span className={look}>{value}</span>);
const columns: readonly Column<ToolLine>[] = [
  { name: "Tool", cell: ({ tool }) => <Text>{tool}</Text> },
  { name: "Calls", align: "right", cell: ({ calls }) => calls },
  { name: "Errors", align: "right", cell: ({ errors }) => count(errors, "text-critical") },
  { name: "Refused", align: "right", wide: true, cell: ({ refused }) => count(refused, "text-high") },
  { name: "p50", align: "right", wide: true, cell: ({ p50_ms }) => maybeDuration(p50_ms) },
  { name: "p95", align: "right", cell: ({ p95_ms }) => maybeDuration(p95_ms) },
];

function ToolTable({ tools }: { readonly tools: readonly ToolLine[] }): ReactNode {
  if (tools.length === 0) return <EmptyState icon="tools" title="No tool has been called since the start" />;
  const busiest = [...tools].sort((a, b) => b.calls + b.refused - a.calls - a.refused).slice(0, 10);
  const keyOf = ({ tool, action }: ToolLine): string => `${tool} ${action}`;
  return <Table label="The busiest tools" rows={busiest} keyOf={keyOf} columns={columns} />;
}

const steps: readonly (readonly [name: string, belowMs: number])[] = [
  ["< 10\u00a0s", 10_000],
  ["< 1\u00a0min", 60_000],
  ["< 5\u00a0min", 300_000],
  ["< 30\u00a0min", 1_800_000],
  ["longer", Number.POSITIVE_INFINITY],
];

/** Decisions of a person that end a request. */
const decisions: ReadonlySet<string> = new Set(["gate.approved", "gate.denied", "gate.modified", "gate.skipped"]);

/** How long agents waited for the latest decisions, from the audit log. */
function WaitingTimes(): ReactNode {
  const mayRead = useMay()("audit:read");
  const types = ["gate.required", ...decisions].join(",");
  const sent = { type: types, limit: 400 };
  const { data, error, refetch } = useAnswer("GET /v1/audit/latest", sent, { enabled: mayRead });
  const waits = waitsIn(data?.events ?? []).sort((a, b) => a - b);
  const median = waits[Math.floor(waits.length / 2)];
  const counts = steps.map(
    ([, belowMs], at) => waits.filter((ms) => ms >= (steps[at - 1]?.[1] ?? 0) && ms < belowMs).length,
  );
  return (
    <Card title="How long decisions take" body="grid gap-2">
      {mayRead && data === undefined && <NotYet error={error} again={refetch} rows={3} />}
      {!mayRead && <EmptyState icon="lock" title="Only auditors can read this" />}
      {data !== undefined && median === undefined && <EmptyState icon="clock" title="No decisions yet" />}
      {median !== undefined && (
        <>
          <p>
            Half of {counted(waits.length, "decision")} came within{" "}
            <strong className="tabular font-semibold">{duration(median)}</strong>.
          </p>
          <Bars
            label={`Waiting times: ${steps.map(([name], at) => `${name}: ${counts[at]}`).join(", ")}`}
            series={[{ name: "requests", tone: "accent" }]}
            bars={steps.map(([name], at) => ({ name, values: [counts[at] ?? 0] }))}
          />
        </>
      )}
    </Card>
  );
}

/** @param events new to old: a decision comes before its request */
function waitsIn(events: readonly AuditEventView[]): number[] {
  const decidedAt = new Map<string, number>();
  return events.flatMap(({ type, timestamp, refs: { approval = "" } }) => {
    const at = Date.parse(timestamp);
    const end = decidedAt.get(approval);
    if (type === "gate.required") return end === undefined ? [] : [end - at];
    if (decisions.has(type)) decidedAt.set(approval, at);
    return [];
  });
}

type Level = Sent<"POST /v1/controls/autonomy">["level"];

/** By the default matrix. */
const levels: readonly (readonly [level: Level, meaning: string])[] = [
  ["A0", "Nothing runs; agents see previews"],
  ["A1", "All calls need approval, critical ones are refused"],
  ["A2", "Safe calls run, riskier ones need approval"],
  ["A3", "Safe and medium calls run, high ones need approval"],
  ["A4", "All but critical calls run; critical ones need approval"],
];

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
        {levels.map(([level, meaning]) => (
          <button
            key={level}
            type="button"
            aria-pressed={level === autonomy}
            disabled={!isOperator || level === autonomy}
            onClick={() => setChange(setLevel(level))}
            className="flex items-center gap-3 rounded-md px-2 py-1 text-left text-ink-2 enabled:hover:bg-hover aria-pressed:bg-accent-tint aria-pressed:font-medium aria-pressed:text-accent"
          >
            <span className="tabular w-6">{level}</span> {meaning}
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
