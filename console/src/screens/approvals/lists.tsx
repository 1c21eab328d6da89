/** The list beside the card: what waits or what was decided, and what of it is shown. */

import { risks } from "@postern/core";
import { memo, type ReactNode } from "react";
import type { ApprovalsAddress } from "../../address.ts";
import { type ApprovalView, idOf, namesOf, stateOf } from "../../api/index.ts";
import {
  Badge,
  classNames,
  EmptyState,
  type Filter,
  FilterBar,
  FilterTable,
  RiskBadge,
  StateBadge,
  Text,
  Time,
  TimeLeft,
  ToolName,
} from "../../kit/index.ts";
import { useLiveState } from "../../live/feed.ts";
import { isNew, type Requests, type Steady, totalOf, useWaiting } from "./requests.ts";

const wordsFor = {
  pending: ["Requests that wait, the most urgent first", "No waiting request matches"],
  decided: ["Requests that were decided", "No decided request matches"],
  approved: ["Requests that were decided", "No approved request matches"],
} as const;

type RequestListProps = Readonly<{
  requests: Requests;
  steady: Steady;
  open: string | undefined;
  wanted: ApprovalsAddress;
}>;

/** What waits, or what was decided: in the server's order, as far as it was read. */
export function RequestList({ requests, steady, open, wanted }: RequestListProps): ReactNode {
  const { gone } = steady;
  const waiting = useWaiting(wanted);
  const [label, nothing] = wordsFor[wanted.state ?? "pending"];
  const isCounted = wanted.state === undefined && wanted.search === undefined;
  const total = waiting && (wanted.risk === undefined ? totalOf(waiting) : waiting[wanted.risk]);
  return (
    <FilterTable
      label={label}
      pages={{ ...requests, rows: requests.rows && steady.shown }}
      total={isCounted ? total : undefined}
      keyOf={idOf}
      estimate={85}
      chosen={open}
      link={(one) => ({ to: "/approvals/{-$request}", params: { request: idOf(one) }, search: wanted })}
      row={(one, isOpen) => <ApprovalRow approval={one} isOpen={isOpen} isGone={gone.has(idOf(one))} />}
      nothing={wanted.search === undefined ? <Nothing {...wanted} /> : <EmptyState icon="search" title={nothing} />}
    />
  );
}

function Nothing({ state, risk, mine, tool, agent, run_id }: ApprovalsAddress): ReactNode {
  const isAway = useLiveState() === "reconnecting";
  if (isAway && state === undefined)
    return (
      <EmptyState icon="warning" title="What waits now is not known">
        Nothing waited when Postern last answered. New requests are shown as soon as it answers again.
      </EmptyState>
    );
  if (state === "decided") return <EmptyState icon="clock" title="Nothing has been decided yet" />;
  if (state === "approved")
    return (
      <EmptyState title="No approval is unused">What was approved has run, was revoked or has expired.</EmptyState>
    );
  if (mine === true)
    return (
      <EmptyState title="Nothing waits for your decision">
        Press “For me” again to see what waits for others.
      </EmptyState>
    );
  if (risk !== undefined || tool !== undefined || agent !== undefined || run_id !== undefined)
    return <EmptyState icon="search" title="No waiting request matches" />;
  return (
    <EmptyState title="Nothing waits for you">
      When an agent calls a tool that needs approval, it appears here within a moment. You can leave this page open.
    </EmptyState>
  );
}

type ApprovalRowProps = Readonly<{
  approval: ApprovalView;
  isOpen: boolean;
  /** It waits no longer. */
  isGone: boolean;
}>;

const ApprovalRow = memo(function ApprovalRow({ approval, isOpen, isGone }: ApprovalRowProps): ReactNode {
  const { what, requested_by, preview, summary, quorum_left, routed, status, expires_at, decision } = approval;
  const { server, name } = namesOf(what.tool);
  return (
    <>
      <span className={classNames("flex items-center justify-between gap-2", isGone && "opacity-60")}>
        <span className="min-w-0 truncate font-semibold">
          <ToolName tool={name} action={what.action} />
        </span>
        <span className="flex shrink-0 items-center gap-1.5">
          {isNew(approval) && !isOpen && <Badge tone="accent">new</Badge>}
          <RiskBadge risk={approval.risk_level} />
        </span>
      </span>
      <span className="line-clamp-1 break-all text-ink-2">
        <Text limit={160}>{preview?.summary ?? summary ?? JSON.stringify(what.arguments).slice(0, 160)}</Text>
      </span>
      <span className="flex items-center justify-between gap-2 text-[0.8571rem] text-ink-2">
        <span className="min-w-0 truncate">
          <Text>{requested_by.agent}</Text>
          {server !== undefined && <Text>{` · ${server}`}</Text>}
          {routed.quorum > 1 && ` · ${routed.quorum - quorum_left} of ${routed.quorum} votes`}
        </span>
        {isGone && <span className="shrink-0">waits no longer</span>}
        {!isGone && status === "pending" && <TimeLeft until={expires_at} />}
        {!isGone && status !== "pending" && (
          <span className="flex shrink-0 items-center gap-1.5">
            <StateBadge state={stateOf(approval)} />
            {decision !== undefined && <Time at={decision.at} />}
          </span>
        )}
      </span>
    </>
  );
});

type ListHeadProps = Readonly<{
  wanted: ApprovalsAddress;
  mayDecide: boolean;
  onChange: (change: Partial<ApprovalsAddress>) => void;
}>;

const worstFirst = risks.toReversed();
const search: Filter = { name: "search", label: "Search requests", placeholder: "Search" };
/** Links set them. */
const members: readonly Filter[] = [
  { name: "tool", label: "Tool", place: "link" },
  { name: "agent", label: "Agent", place: "link" },
  { name: "run_id", label: "Run", place: "link" },
];
const outcomes: readonly Filter[] = [
  {
    name: "state",
    label: "Show by outcome",
    look: "chips",
    options: [
      ["decided", "Any outcome"],
      ["approved", "Approved, not run yet"],
    ],
  },
];

export function ListHead({ wanted, mayDecide, onChange }: ListHeadProps): ReactNode {
  const { state, risk } = wanted;
  const waiting = useWaiting(wanted);
  const shown = worstFirst.filter((one) => (waiting?.[one] ?? 0) > 0 || one === risk);
  const isWaiting: Filter = {
    name: "state",
    label: "Waiting or decided",
    look: "chips",
    options: [
      ["", "Waiting"],
      [state ?? "decided", "Decided"],
    ],
  };
  const mine: Filter = {
    name: "mine",
    label: "Whose",
    look: "chips",
    options: [[true, "For me"]],
  };
  const byRisk: Filter = {
    name: "risk",
    label: "Show by risk",
    look: "chips",
    options: [["", "All", waiting && totalOf(waiting)], ...shown.map((one) => [one, one, waiting?.[one]] as const)],
  };
  const more = state === undefined ? [...(mayDecide ? [mine] : []), byRisk] : outcomes;
  return <FilterBar filters={[isWaiting, search, ...more, ...members]} values={{ ...wanted }} onChange={onChange} />;
}
