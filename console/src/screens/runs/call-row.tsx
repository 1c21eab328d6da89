import { Link } from "@tanstack/react-router";
import { memo, type ReactNode } from "react";
import type { Chain } from "../../../../src/server/contract/chains.ts";
import type { TimelineCall } from "../../../../src/server/contract/runs.ts";
import { refusalText } from "../../api/typed.ts";
import { RiskBadge, StateBadge } from "../../kit/badge.tsx";
import { Facts } from "../../kit/card.tsx";
import { classNames } from "../../kit/class-names.ts";
import { Hash } from "../../kit/copy.tsx";
import { Icon } from "../../kit/icons.tsx";
import { Text } from "../../kit/text.tsx";
import { duration, Time } from "../../kit/time.tsx";
import { ProgressLine } from "../progress-line.tsx";
import { Artifacts } from "./artifacts.tsx";
import { chainTool } from "./chains.ts";
import { hatched } from "./looks.ts";
import { Script, WaitsAt } from "./script.tsx";
import { Unknown } from "./unknown.tsx";
import type { Part, Row, Scale, Segment } from "./waterfall.ts";

interface CallRowProps {
  readonly row: Row;
  readonly scale: Scale;
  /** Of a script that runs, waits, or was cut short. */
  readonly chain: Chain | undefined;
  readonly isOpen: boolean;
  readonly onToggle: (callId: string) => void;
  readonly maySettle: boolean;
}

/** Name, time, length; on a phone one beneath the other. */
const columns = "gap-x-4 md:grid-cols-[minmax(14rem,20rem)_minmax(0,1fr)_5.5rem]";

/** One call: its name, its stretch of time, and on demand what is known of it. */
export const CallRow = memo(function CallRow(props: CallRowProps): ReactNode {
  const { row, scale, chain, isOpen, onToggle, maySettle } = props;
  const { call, depth } = row;
  return (
    <div className={classNames("border-b border-line", isOpen && "bg-sunken")}>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => onToggle(call.call_id)}
        className={classNames("grid w-full items-center gap-y-1.5 px-4 py-2 text-left hover:bg-hover", columns)}
      >
        <span className="flex min-w-0 items-center gap-2" style={{ paddingLeft: `${Math.min(depth, 6) * 16}px` }}>
          <span className="shrink-0 text-ink-3">
            <Icon name={isOpen ? "down" : "right"} size={12} />
          </span>
          <span className="min-w-0 truncate">
            <Text className="font-medium">{call.tool}</Text>
            {call.action !== "default" && (
              <span className="text-ink-2">
                {" "}
                <Text>{call.action}</Text>
              </span>
            )}
            {call.line !== undefined && <span className="mono text-ink-3"> line {call.line}</span>}
            {chain !== undefined && <WaitsAt chain={chain} />}
          </span>
          <span className="ml-auto flex shrink-0 items-center gap-2">
            {call.artifacts.length > 0 && (
              <span className="tabular inline-flex items-center gap-1 text-ink-3" title="Artifacts it left behind">
                <Icon name="down_tray" size={12} /> {call.artifacts.length}
                <span className="sr-only">{call.artifacts.length === 1 ? "artifact" : "artifacts"}</span>
              </span>
            )}
            <span className="tabular text-[0.9286rem] text-ink-2 md:hidden">{spent(row)}</span>
            <StateBadge state={wordOf(call)} />
          </span>
        </span>
        <Track row={row} scale={scale} />
        <span className="tabular text-right text-[0.9286rem] text-ink-2 max-md:hidden">{spent(row)}</span>
      </button>
      {call.state === "attempted" && (
        <div className={classNames("grid px-4 pb-2 empty:hidden", columns)}>
          <ProgressLine callId={call.call_id} tool={call.tool} className="md:col-start-2" />
        </div>
      )}
      {isOpen && <Details row={row} chain={chain} maySettle={maySettle} />}
    </div>
  );
});

/** A time-out is an outcome of its own to whoever looks. */
function wordOf({ state, code, approval }: TimelineCall): string {
  if (state === "held" && approval?.status === "approved") return "approved, not sent again";
  return code === "timed_out" ? "timeout" : state;
}

function spent({ call, runningMs, waitingMs }: Row): string {
  if (call.started_at !== undefined) return duration(runningMs);
  return waitingMs > 0 ? duration(waitingMs) : "–";
}

const words: Readonly<Record<Part, string>> = {
  gates: "at the gates",
  person: "waiting for a person",
  decided: "decided, not yet run",
  running: "executing",
};

function Track({ row, scale }: { readonly row: Row; readonly scale: Scale }): ReactNode {
  const label = row.segments.map((one) => `${words[one.part]} ${duration(one.to - one.from)}`).join(", ");
  return (
    <span role="img" aria-label={label} className="relative block h-4 w-full">
      <span aria-hidden="true" className="absolute inset-x-0 top-1/2 border-t border-line" />
      {row.segments.map((segment) => (
        <Stretch key={`${segment.part} ${segment.from}`} segment={segment} scale={scale} call={row.call} />
      ))}
    </span>
  );
}

function Stretch({
  segment,
  scale,
  call,
}: {
  readonly segment: Segment;
  readonly scale: Scale;
  readonly call: TimelineCall;
}): ReactNode {
  const from = scale.place(segment.from) * 100;
  const width = scale.place(segment.to) * 100 - from;
  return (
    <span
      title={`${words[segment.part]}: ${duration(segment.to - segment.from)}`}
      className={classNames("absolute rounded-sm", looksOf(segment, call), segment.isOpen && "animate-breathe")}
      style={{ left: `min(${from}%, calc(100% - 4px))`, width: `max(${width}%, 3px)` }}
    />
  );
}

const outcomes = new Map([
  ["ok", "bg-safe"],
  ["failed", "bg-critical"],
  ["denied", "bg-high"],
  [
    "unknown",
    "border border-medium bg-[repeating-linear-gradient(45deg,var(--color-medium)_0_3px,var(--color-medium-tint)_3px_6px)]",
  ],
]);

function looksOf({ part }: Segment, { state }: TimelineCall): string {
  switch (part) {
    case "gates":
      return classNames("top-[7px] h-0.5", state === "refused" || state === "denied" ? "bg-high" : "bg-line-strong");
    case "person":
      return classNames("top-0.5 h-3", hatched);
    case "decided":
      return "top-[7px] h-0.5 bg-accent";
    case "running":
      return classNames("top-0.5 h-3", outcomes.get(state) ?? "bg-ink-2");
  }
}

function Details({
  row,
  chain,
  maySettle,
}: {
  readonly row: Row;
  readonly chain: Chain | undefined;
  readonly maySettle: boolean;
}): ReactNode {
  const { call } = row;
  return (
    <div className="grid gap-4 px-4 pt-1 pb-4 md:pl-9">
      {call.message !== undefined && (
        <p>
          <span className="mono mr-2 text-ink-3">{call.code}</span>
          <Text>{refusalText(call.code, call.message)}</Text>
        </p>
      )}
      {call.state === "unknown" && <Unknown callId={call.call_id} maySettle={maySettle} />}
      {(call.tool === chainTool || row.isScript) && <Script call={call} chain={chain} />}
      <WhenAndWho row={row} />
      <Artifacts call={call} />
      <p className="flex flex-wrap gap-4">
        <Link to="/audit" search={{ call_id: call.key ?? call.call_id }} className="text-accent underline">
          Its events in the audit log
        </Link>
        {call.state !== "refused" && ( // its arguments are not kept
          <Link to="/policy" search={{ call: call.call_id }} className="text-accent underline">
            Explain it by today's policy
          </Link>
        )}
      </p>
    </div>
  );
}

/** Each part of its way, with its time and whose word it was. */
function WhenAndWho({ row }: { readonly row: Row }): ReactNode {
  const { call } = row;
  const { approval } = call;
  return (
    <Facts
      rows={[
        ["Call", <Hash key="id" value={call.call_id} label="call id" />],
        call.risk_level === undefined ? undefined : ["Risk", <RiskBadge key="risk" risk={call.risk_level} />],
        call.agent === undefined ? undefined : ["Agent", <Text key="agent">{call.agent}</Text>],
        ["Arrived", <Time key="at" at={call.arrived_at} />],
        approval === undefined
          ? undefined
          : [
              "Asked",
              <span key="asked">
                <Time at={approval.asked_at} />, {duration(row.waitingMs)} of waiting ·{" "}
                <Link to={`/approvals/${approval.approval_id}`} className="text-accent underline">
                  the request
                </Link>
              </span>,
            ],
        approval?.decided_at === undefined
          ? undefined
          : [
              "Decided",
              <span key="decided">
                <Time at={approval.decided_at} />, {approval.decided_as} by <Text>{approval.decided_by}</Text>
              </span>,
            ],
        call.started_at === undefined
          ? undefined
          : [
              "Executed",
              <span key="ran">
                <Time at={call.started_at} />
                {call.ended_at === undefined ? "" : `, for ${duration(row.runningMs)}`}
              </span>,
            ],
      ]}
    />
  );
}
