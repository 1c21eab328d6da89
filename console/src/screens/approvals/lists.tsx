/** The list beside the card: what waits or what was decided, and what of it is shown. */

import { risks } from "@postern/core";
import { memo, type ReactNode } from "react";
import type { ApprovalsAddress } from "../../address.ts";
import { type ApprovalView, idOf, namesOf } from "../../api/index.ts";
import {
  Badge,
  Button,
  classNames,
  EmptyState,
  NotYet,
  number,
  RiskBadge,
  RowLink,
  StateBadge,
  Text,
  Time,
  TimeLeft,
  Toggle,
  ToolName,
  TypedSearch,
  VirtualList,
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
  const { rows, error, again, more } = requests;
  const { shown, gone } = steady;
  const state = wanted.state ?? "pending";
  const isAway = useLiveState() === "reconnecting";
  if (rows === undefined) return <NotYet error={error} again={again} rows={8} />;
  const [label, nothing] = wordsFor[state];
  if (shown.length > 0)
    return (
      <VirtualList
        label={label}
        rows={shown}
        keyOf={idOf}
        estimate={85}
        selected={shown.findIndex((one) => idOf(one) === open)}
        onEnd={more}
        row={(one) => (
          <ApprovalRow approval={one} isOpen={idOf(one) === open} isGone={gone.has(idOf(one))} search={wanted} />
        )}
      />
    );
  if (isAway && state === "pending")
    return (
      <EmptyState icon="warning" title="What waits now is not known">
        Nothing waited when Postern last answered. New requests are shown as soon as it answers again.
      </EmptyState>
    );
  if (wanted.search !== undefined) return <EmptyState icon="search" title={nothing} />;
  return <Nothing {...wanted} />;
}

function Nothing({ state, risk, mine, tool, agent, run_id }: ApprovalsAddress): ReactNode {
  if (state === "decided") return <EmptyState icon="clock" title="Nothing has been decided yet" />;
  if (state === "approved")
    return (
      <EmptyState title="No approval is unused">What was approved has run, was revoked or has expired.</EmptyState>
    );
  if (risk !== undefined) return <EmptyState title="No request of this risk waits" />;
  if (mine === true)
    return (
      <EmptyState title="Nothing waits for your decision">
        Press “For me” again to see what waits for others.
      </EmptyState>
    );
  if (tool !== undefined || agent !== undefined || run_id !== undefined)
    return <EmptyState title="Nothing that waits is of these" />;
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
  /** The list around it. */
  search: ApprovalsAddress;
}>;

const ApprovalRow = memo(function ApprovalRow({ approval, isOpen, isGone, search }: ApprovalRowProps): ReactNode {
  const { what, requested_by, preview, summary, quorum_left, routed, status, expires_at, decision } = approval;
  const { server, name } = namesOf(what.tool);
  return (
    <RowLink to="/approvals/{-$request}" params={{ request: approval.approval_id }} search={search} isChosen={isOpen}>
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
            <StateBadge state={status} />
            {decision !== undefined && <Time at={decision.at} />}
          </span>
        )}
      </span>
    </RowLink>
  );
});

type ListHeadProps = Readonly<{
  wanted: ApprovalsAddress;
  mayDecide: boolean;
  onChange: (change: Partial<ApprovalsAddress>) => void;
}>;

const worstFirst = risks.toReversed();

export function ListHead({ wanted, mayDecide, onChange }: ListHeadProps): ReactNode {
  const { state, mine, risk, search } = wanted;
  const waiting = useWaiting(wanted);
  const isWaiting = state === undefined;
  const total = waiting && totalOf(waiting);
  const shownRisks = worstFirst.filter((one) => (waiting?.[one] ?? 0) > 0 || one === risk);
  const count = (value: number | undefined): ReactNode =>
    value !== undefined && <span className="tabular text-[0.8571rem]">{number(value)}</span>;
  return (
    <>
      <div className="flex h-11 shrink-0 items-center gap-2 px-3">
        <fieldset className="flex gap-1">
          <legend className="sr-only">Waiting or decided</legend>
          <Toggle isOn={isWaiting} onClick={() => onChange({ state: undefined })}>
            Waiting
          </Toggle>
          <Toggle isOn={!isWaiting} onClick={() => onChange({ state: "decided" })}>
            Decided
          </Toggle>
        </fieldset>
        <TypedSearch
          label="Search requests"
          placeholder="Search"
          className="h-8 min-w-0 flex-1"
          words={search}
          onWords={(words) => onChange({ search: words })}
        />
      </div>
      <fieldset className="flex h-11 min-w-0 shrink-0 items-center gap-1 overflow-x-auto border-b border-line px-3">
        <legend className="sr-only">{isWaiting ? "Show by risk" : "Show by outcome"}</legend>
        {!isWaiting && (
          <>
            <Toggle isOn={state === "decided"} onClick={() => onChange({ state: "decided" })}>
              Any outcome
            </Toggle>
            <Toggle isOn={state === "approved"} onClick={() => onChange({ state: "approved" })}>
              Approved, not run yet
            </Toggle>
          </>
        )}
        {isWaiting && mayDecide && (
          <Toggle
            isOn={mine === true}
            title="Only what you may decide: routed to you, not asked for by you, not decided by you already"
            onClick={() => onChange({ mine: mine === true ? undefined : true })}
          >
            For me
          </Toggle>
        )}
        {isWaiting && (
          <Toggle isOn={risk === undefined} onClick={() => onChange({ risk: undefined })}>
            All {count(total)}
          </Toggle>
        )}
        {isWaiting &&
          shownRisks.map((one) => (
            <Toggle key={one} isOn={one === risk} onClick={() => onChange({ risk: one === risk ? undefined : one })}>
              {one} {count(waiting?.[one])}
            </Toggle>
          ))}
      </fieldset>
      <Narrowed wanted={wanted} onChange={onChange} />
    </>
  );
}

const members = [
  ["tool", "Tool"],
  ["agent", "Agent"],
  ["run_id", "Run"],
] as const;

/** What else the list is narrowed to, by a link that led here. */
function Narrowed({ wanted, onChange }: Pick<ListHeadProps, "wanted" | "onChange">): ReactNode {
  const given = members.filter(([name]) => wanted[name] !== undefined);
  if (given.length === 0) return null;
  return (
    <p className="flex flex-wrap items-center gap-1.5 border-b border-line px-3 py-1.5">
      {given.map(([name, word]) => (
        <Button
          key={name}
          size="small"
          icon="cross"
          className="max-w-full"
          aria-label={`${word} ${wanted[name]}: show all`}
          onClick={() => onChange({ [name]: undefined })}
        >
          <span className="truncate">
            {word} <Text>{wanted[name]}</Text>
          </span>
        </Button>
      ))}
    </p>
  );
}
