import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Statistics } from "../../../../src/server/contract/tools.ts";
import type { ApprovalView } from "../../api/approvals.ts";
import { get } from "../../api/client.ts";
import { serverNow } from "../../api/server-time.ts";
import { RiskBadge } from "../../kit/badge.tsx";
import { Card } from "../../kit/card.tsx";
import { type Bar, Bars, type Series } from "../../kit/charts.tsx";
import { EmptyState, NotYet } from "../../kit/states.tsx";
import { Table } from "../../kit/table.tsx";
import { Text } from "../../kit/text.tsx";
import { duration, TimeLeft } from "../../kit/time.tsx";
import { useIsOver } from "../../kit/use-now.ts";
import { useLiveState } from "../../live/feed.ts";
import { totalOf, useInbox, useWaiting } from "../approvals/inbox.ts";
import { ControlsCard } from "./controls.tsx";
import { WaitingTimes } from "./waiting-times.tsx";

type Minute = Statistics["minutes"][number];

const outcomes: readonly Series[] = [
  { name: "ok", tone: "safe" },
  { name: "refused", tone: "high" },
  { name: "previewed", tone: "neutral" },
  { name: "unknown", tone: "medium" },
  { name: "failed", tone: "critical" },
];

const risks = ["critical", "high", "medium", "safe"] as const;

/** How things go, in pictures: what waits, what runs, how long people take. */
export function OverviewScreen(): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "statistics"],
    queryFn: ({ signal }) => get<Statistics>("/v1/statistics", { signal }),
    refetchInterval: 30_000,
  });
  if (data === undefined) return <NotYet error={error} again={refetch} />;
  const span = isWholeHour(data.since) ? "in the last hour" : "since the start";
  return (
    <div className="mx-auto grid max-w-6xl gap-4 p-4 lg:grid-cols-2 lg:p-6">
      <Waiting />
      <WaitingTimes />
      <Card title={`Calls a minute, ${span}`} className="lg:col-span-2">
        <div className="px-4 py-3">
          <CallsAMinute minutes={data.minutes} span={span} />
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
  const {
    approvals: [first],
  } = useInbox();
  const waiting = useWaiting();
  const total = waiting && totalOf(waiting);
  const isAway = useLiveState() === "reconnecting";
  return (
    <Card title="Waiting for people">
      <div className="grid gap-3 px-4 py-4">
        <p className="flex items-baseline gap-2">
          <span className="tabular text-[2.2857rem] leading-none font-semibold tracking-tight">{total ?? "…"}</span>
          <span className="text-ink-2">{total === 1 ? "request" : "requests"}</span>
        </p>
        <ul aria-label="By risk" className="flex flex-wrap gap-x-4 gap-y-1.5 empty:hidden">
          {waiting !== undefined &&
            risks
              .filter((risk) => waiting[risk] > 0)
              .map((risk) => (
                <li key={risk} className="flex items-center gap-1.5">
                  <RiskBadge risk={risk} /> <span className="tabular text-ink-2">{waiting[risk]}</span>
                </li>
              ))}
        </ul>
        <p className="text-ink-2">
          {first !== undefined ? (
            <First approval={first} />
          ) : isAway ? (
            "What waits now is not known."
          ) : (
            "Nobody waits for you."
          )}
        </p>
      </div>
    </Card>
  );
}

function First({ approval: { approval_id: id, what, expires_at } }: { readonly approval: ApprovalView }): ReactNode {
  const isOver = useIsOver(expires_at);
  return (
    <>
      <Link to="/approvals/$id" params={{ id }} className="text-accent hover:underline">
        <Text>{what.tool}</Text>
      </Link>{" "}
      {isOver ? (
        "is next: its time is over."
      ) : (
        <>
          is next: it ends in <TimeLeft until={expires_at} />.
        </>
      )}
    </>
  );
}

/** Calls are counted in memory: what came before a start within this hour is in the audit log alone. */
function isWholeHour(since: string | undefined): boolean {
  return since !== undefined && Date.parse(since) <= serverNow() - 3_600_000;
}

function CallsAMinute({ minutes, span }: { readonly minutes: readonly Minute[]; readonly span: string }): ReactNode {
  const bars = lastHour(minutes);
  const total = bars.reduce((sum, { values }) => sum + values.reduce((all, one) => all + one, 0), 0);
  if (total === 0) return <EmptyState icon="overview" title={`No call ${span}`} />;
  return (
    <Bars
      label={`Calls a minute by outcome: ${total} ${span}`}
      series={outcomes}
      bars={bars}
      axis={[bars[0]?.name ?? "", "now"]}
    />
  );
}

/** Sixty minutes, those without a call too: an hour is as wide as an hour. */
function lastHour(minutes: readonly Minute[]): readonly Bar[] {
  const found = new Map(minutes.map((minute) => [Math.floor(Date.parse(minute.at) / 60_000), minute]));
  const now = Math.floor(serverNow() / 60_000);
  return Array.from({ length: 60 }, (_, at) => {
    const { ok = 0, refused = 0, previewed = 0, unknown = 0, failed = 0 } = found.get(now - 59 + at) ?? {};
    return { name: clock((now - 59 + at) * 60_000), values: [ok, refused, previewed, unknown, failed] };
  });
}

function clock(atMs: number): string {
  return new Date(atMs).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

function ToolTable({ tools }: { readonly tools: Statistics["tools"] }): ReactNode {
  if (tools.length === 0) return <EmptyState icon="tools" title="No tool has been called since the start" />;
  const busiest = [...tools].sort((a, b) => b.calls + b.refused - a.calls - a.refused).slice(0, 10);
  return (
    <Table
      label="The busiest tools"
      rows={busiest}
      keyOf={({ tool, action }) => `${tool} ${action}`}
      columns={[
        { name: "Tool", cell: ({ tool }) => <Text>{tool}</Text> },
        { name: "Calls", align: "right", cell: ({ calls }) => calls },
        {
          name: "Errors",
          align: "right",
          cell: ({ errors }) => (errors === 0 ? "–" : <span className="text-critical">{errors}</span>),
        },
        {
          name: "Refused",
          align: "right",
          wide: true,
          cell: ({ refused }) => (refused === 0 ? "–" : <span className="text-high">{refused}</span>),
        },
        {
          name: "p50",
          align: "right",
          wide: true,
          cell: ({ p50_ms }) => (p50_ms === undefined ? "–" : duration(p50_ms)),
        },
        { name: "p95", align: "right", cell: ({ p95_ms }) => (p95_ms === undefined ? "–" : duration(p95_ms)) },
      ]}
    />
  );
}
