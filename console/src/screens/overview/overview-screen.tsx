import type { ReactNode } from "react";
import type { Statistics } from "../../../../src/server/contract/tools.ts";
import { type ApprovalView, serverNow } from "../../api/index.ts";
import {
  type Bar,
  Bars,
  Card,
  type Column,
  classNames,
  EmptyState,
  maybeDuration,
  NotYet,
  number,
  RiskBadge,
  type Series,
  Table,
  Text,
  TextLink,
  TimeLeft,
  useIsOver,
} from "../../kit/index.ts";
import { useLiveState } from "../../live/feed.ts";
import { totalOf, useInbox, useWaiting } from "../approvals/inbox.ts";
import { useStatistics } from "../tools/use-tools.ts";
import { ControlsCard } from "./controls.tsx";
import { WaitingTimes } from "./waiting-times.tsx";

const outcomes = ["ok", "refused", "previewed", "unknown", "failed"] as const;
const tones = ["safe", "high", "neutral", "medium", "critical"] as const;
const series: readonly Series[] = outcomes.map((name, at) => ({ name, tone: tones[at] ?? "neutral" }));
const risks = ["critical", "high", "medium", "safe"] as const;

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
      <Card title={`Calls a minute, ${span}`} className="lg:col-span-2">
        <div className="px-4 py-3">
          <CallsPerMinute minutes={data.minutes} span={span} />
        </div>
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
    <Card title="Waiting for approval">
      <div className="grid gap-3 px-4 py-4">
        <p className="flex items-baseline gap-2">
          <span className="tabular text-[2.2857rem] leading-none font-semibold tracking-tight">
            {total === undefined ? "…" : number(total)}
          </span>
          <span className="text-ink-2">{total === 1 ? "request" : "requests"}</span>
        </p>
        <ul aria-label="By risk" className="flex flex-wrap gap-x-4 gap-y-1.5 empty:hidden">
          {risks
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
      </div>
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

type CallsPerMinuteProps = Readonly<{ minutes: Statistics["minutes"]; span: string }>;

function CallsPerMinute({ minutes, span }: CallsPerMinuteProps): ReactNode {
  const bars = lastHour(minutes);
  const total = bars.flatMap(({ values }) => values).reduce((sum, one) => sum + one, 0);
  if (total === 0) return <EmptyState icon="overview" title={`No call ${span}`} />;
  const label = `Calls a minute by outcome: ${total} ${span}`;
  return <Bars label={label} series={series} bars={bars} axis={[bars[0]?.name ?? "", "now"]} />;
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

const count = (value: number, look: string): ReactNode =>
  value === 0 ? "–" : <span className={classNames(look)}>{value}</span>;
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
