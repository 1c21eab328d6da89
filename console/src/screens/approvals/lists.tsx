/** The list beside the card: what waits or what was decided, and what of it is shown. */

import { risks } from "@postern/core";
import { memo, type ReactNode, useMemo } from "react";
import {
  type ApprovalView,
  approvalsOf,
  idOf,
  namesOf,
  usePages,
  useReadOn,
  type WaitingCounts,
} from "../../api/index.ts";
import {
  EmptyState,
  ErrorState,
  NotYet,
  number,
  RiskBadge,
  RowLink,
  SearchInput,
  Skeleton,
  StateBadge,
  Text,
  Time,
  TimeLeft,
  Toggle,
  ToolName,
  VirtualList,
} from "../../kit/index.ts";
import { useLiveState } from "../../live/feed.ts";
import { hasWords } from "../split-view.tsx";
import { type InboxList, totalOf } from "./inbox.ts";

/** Which requests are shown. */
export interface Wanted {
  readonly isDecided: boolean;
  readonly words: string;
  readonly risk: ApprovalView["risk_level"] | undefined;
  /** Only what this person may decide; the server knows routes, roles and quorum. */
  readonly isMine: boolean;
  /** Of the decided ones, only approvals that have not run. */
  readonly isUnused: boolean;
}

/** Whether each word occurs in the tool, requester, run or description of the request. */
export function isFound(approval: ApprovalView, words: string): boolean {
  const { approval_id, what, requested_by, refs, preview, summary, reason } = approval;
  const { agent, user } = requested_by;
  return hasWords(
    [approval_id, what.tool, what.action, agent, user, refs.run, preview?.summary, summary, reason],
    words,
  );
}

type WaitingListProps = Readonly<{
  inbox: InboxList;
  shown: readonly ApprovalView[];
  open: string | undefined;
  wanted: Wanted;
}>;

/** Words are searched for in all that waits: the pages that are missing are read. */
export function WaitingList({ inbox, shown, open, wanted: { risk, isMine, words } }: WaitingListProps): ReactNode {
  const { status, error, hasMore, reload, more } = inbox;
  const isAway = useLiveState() === "reconnecting";
  const isSearching = useReadOn(words.trim() !== "", { hasMore, more });
  if (status === "failed") return <ErrorState error={error} retry={reload} />;
  if (status === "loading" || (shown.length === 0 && isSearching && !isAway)) return <Skeleton rows={8} />;
  if (shown.length > 0)
    return (
      <ApprovalList label="Requests that wait, the most urgent first" approvals={shown} open={open} onEnd={more} />
    );
  if (isAway)
    return (
      <EmptyState icon="warning" title="What waits now is not known">
        Nothing waited when Postern last answered. New requests are shown as soon as it answers again.
      </EmptyState>
    );
  if (words.trim() !== "") return <EmptyState icon="search" title="No waiting request matches" />;
  if (risk !== undefined) return <EmptyState title="No request of this risk waits" />;
  if (isMine)
    return (
      <EmptyState title="Nothing waits for your decision">
        Press “For me” again to see what waits for others.
      </EmptyState>
    );
  return (
    <EmptyState title="Nothing waits for you">
      When an agent calls a tool that needs approval, it appears here within a moment. You can leave this page open.
    </EmptyState>
  );
}

type DecidedListProps = Readonly<{ open: string | undefined; words: string; isUnused: boolean }>;

export function DecidedList({ open, words, isUnused }: DecidedListProps): ReactNode {
  const state = isUnused ? "approved" : "decided";
  const pages = usePages("GET /v1/approvals", { state, limit: 100 }, { rowsOf: approvalsOf, keyOf: idOf });
  const { rows, error, again, more } = pages;
  const shown = useMemo(() => rows?.filter((one) => isFound(one, words)), [rows, words]);
  const isSearching = useReadOn(words.trim() !== "" && shown?.length === 0, pages);
  if (shown === undefined) return <NotYet error={error} again={again} rows={8} />;
  if (isSearching) return <Skeleton rows={8} />;
  if (shown.length > 0)
    return <ApprovalList label="Requests that were decided" approvals={shown} open={open} onEnd={more} />;
  if (words.trim() !== "") return <EmptyState icon="search" title="No decided request matches" />;
  if (!isUnused) return <EmptyState icon="clock" title="Nothing has been decided yet" />;
  return <EmptyState title="No approval is unused">What was approved has run, was revoked or has expired.</EmptyState>;
}

type ApprovalListProps = Readonly<{
  label: string;
  approvals: readonly ApprovalView[];
  open: string | undefined;
  onEnd: () => void;
}>;

function ApprovalList({ label, approvals, open, onEnd }: ApprovalListProps): ReactNode {
  return (
    <VirtualList
      label={label}
      rows={approvals}
      keyOf={idOf}
      estimate={85}
      selected={approvals.findIndex(({ approval_id }) => approval_id === open)}
      onEnd={onEnd}
      row={(approval) => <ApprovalRow approval={approval} isOpen={approval.approval_id === open} />}
    />
  );
}

type ApprovalRowProps = Readonly<{ approval: ApprovalView; isOpen: boolean }>;

const ApprovalRow = memo(function ApprovalRow({ approval, isOpen }: ApprovalRowProps): ReactNode {
  const { what, requested_by, preview, summary, quorum_left, routed, status, expires_at, decision } = approval;
  const { server, name } = namesOf(what.tool);
  return (
    <RowLink to={`/approvals/${approval.approval_id}`} isChosen={isOpen}>
      <span className="flex items-center justify-between gap-2">
        <span className="min-w-0 truncate font-semibold">
          <ToolName tool={name} action={what.action} />
        </span>
        <RiskBadge risk={approval.risk_level} />
      </span>
      <span className="line-clamp-1 text-ink-2">
        <Text limit={160}>{preview?.summary ?? summary ?? JSON.stringify(what.arguments).slice(0, 160)}</Text>
      </span>
      <span className="flex items-center justify-between gap-2 text-[0.8571rem] text-ink-2">
        <span className="min-w-0 truncate">
          <Text>{requested_by.agent}</Text>
          {server !== undefined && <Text>{` · ${server}`}</Text>}
          {routed.quorum > 1 && ` · ${routed.quorum - quorum_left} of ${routed.quorum} votes`}
        </span>
        {status === "pending" ? (
          <TimeLeft until={expires_at} />
        ) : (
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
  /** Undefined until it is known. */
  waiting: WaitingCounts | undefined;
  wanted: Wanted;
  mayDecide: boolean;
  onChange: (change: Partial<Wanted>) => void;
}>;

export function ListHead({ waiting, wanted, mayDecide, onChange }: ListHeadProps): ReactNode {
  const { isDecided, isMine, isUnused, risk, words } = wanted;
  const shownRisks = [undefined, ...risks.toReversed().filter((one) => (waiting?.[one] ?? 0) > 0 || one === risk)];
  return (
    <>
      <div className="flex h-11 shrink-0 items-center gap-2 px-3">
        <fieldset className="flex gap-1">
          <legend className="sr-only">Waiting or decided</legend>
          {[false, true].map((value) => (
            <Toggle key={String(value)} isOn={isDecided === value} onClick={() => onChange({ isDecided: value })}>
              {value ? "Decided" : "Waiting"}
            </Toggle>
          ))}
        </fieldset>
        <SearchInput
          label="Search requests"
          placeholder="Search"
          className="h-8 min-w-0 flex-1"
          words={words}
          onChange={(typed) => onChange({ words: typed })}
        />
      </div>
      <fieldset className="flex h-11 min-w-0 shrink-0 items-center gap-1 overflow-x-auto border-b border-line px-3">
        <legend className="sr-only">{isDecided ? "Show by outcome" : "Show by risk"}</legend>
        {isDecided &&
          [false, true].map((value) => (
            <Toggle key={String(value)} isOn={isUnused === value} onClick={() => onChange({ isUnused: value })}>
              {value ? "Approved, not run yet" : "Any outcome"}
            </Toggle>
          ))}
        {!isDecided &&
          shownRisks.map((one) => (
            <Toggle key={one ?? "all"} isOn={one === risk} onClick={() => onChange({ risk: one })}>
              {one ?? "All"}{" "}
              {waiting !== undefined && (
                <span className="tabular text-[0.8571rem]">
                  {number(one === undefined ? totalOf(waiting) : waiting[one])}
                </span>
              )}
            </Toggle>
          ))}
        {!isDecided && mayDecide && (
          <span className="ml-auto pl-2">
            <Toggle
              isOn={isMine}
              title="Only what you may decide: routed to you, not asked for by you, not decided by you already"
              onClick={() => onChange({ isMine: !isMine })}
            >
              For me
            </Toggle>
          </span>
        )}
      </fieldset>
    </>
  );
}
