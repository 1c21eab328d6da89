import { useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { Approval, Waiting } from "../../api/approvals.ts";
import { useMay } from "../../api/session.ts";
import { classNames } from "../../kit/class-names.ts";
import { EmptyState, ErrorState, Skeleton } from "../../kit/states.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { useLiveState } from "../../live/feed.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { ApprovalRow } from "./approval-row.tsx";
import { totalOf, useInbox, useWaiting } from "./inbox.ts";
import { type Narrowed, useNarrowed, type Wanted } from "./narrowed.ts";
import { Standing } from "./standing.tsx";
import { useKeys } from "./use-keys.ts";

const risks = ["critical", "high", "medium", "safe"] as const;

/** A card has an address of its own: what was chosen stays chosen on the way to it and back. */
let wantedLast: Wanted = { risk: undefined, isMine: false };

/** List and card side by side; on a phone the list leads to the card. */
export function ApprovalsScreen(): ReactNode {
  const { id } = useParams({ strict: false });
  const navigate = useNavigate();
  const all = useInbox();
  const [{ risk, isMine }, setWanted] = useState(wantedLast);
  // Where not all of it is here, what is of this risk may lie beyond what was read.
  const isNarrowed = isMine || (risk !== undefined && all.hasMore);
  const narrowed = useNarrowed(isNarrowed ? { risk, isMine } : undefined);
  const inbox = isNarrowed ? narrowed : all;
  const waiting = useWaiting();
  const want = (next: Wanted): void => {
    wantedLast = next;
    setWanted(next);
  };
  const shown = useMemo(
    () => (risk === undefined ? inbox.approvals : inbox.approvals.filter(({ risk_level }) => risk_level === risk)),
    [inbox.approvals, risk],
  );
  const at = shown.findIndex(({ approval_id }) => approval_id === id);
  const go = (to: string | undefined): void =>
    void navigate(to === undefined ? { to: "/approvals" } : { to: "/approvals/$id", params: { id: to } });
  useFirstChoice(id, shown[0]?.approval_id);
  const step = (by: number): void => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) go(next.approval_id);
  };
  /** After a decision: the next one down, without a jump back to the top. */
  const next = (decided: string): void => {
    const from = shown.findIndex(({ approval_id }) => approval_id === decided);
    const after = shown[from + 1] ?? shown[from - 1];
    go(after?.approval_id === decided ? undefined : after?.approval_id);
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
  return (
    <div className="flex h-full min-h-0">
      <div
        className={classNames(
          "flex min-h-0 w-full flex-col border-line bg-surface lg:w-[23rem] lg:shrink-0 lg:border-r",
          id !== undefined && "max-lg:hidden",
        )}
      >
        <FilterBar waiting={isMine ? narrowed.waiting : waiting} wanted={{ risk, isMine }} onChange={want} />
        <div className="min-h-0 flex-1">
          <List inbox={inbox} shown={shown} open={id} at={at} wanted={{ risk, isMine }} />
        </div>
        <Standing />
      </div>
      <div className={classNames("min-h-0 min-w-0 flex-1", id === undefined && "max-lg:hidden")}>
        {id === undefined ? (
          inbox.status === "ready" && (
            <p className="px-6 py-14 text-center text-ink-3">What waits for you is shown here.</p>
          )
        ) : (
          <ApprovalCard key={id} id={id} onDecided={next} onBack={() => go(undefined)} />
        )}
      </div>
    </div>
  );
}

const desk = "(min-width: 64rem)"; // as `lg:` has it

/**
 * Without a choice a desk shows the most urgent one, and from then on that one: what comes later and is more urgent takes
 * its place in the list, never under the pointer of who reads.
 */
function useFirstChoice(chosen: string | undefined, first: string | undefined): void {
  const navigate = useNavigate();
  const isDesk = useSyncExternalStore(
    (listener) => {
      const query = matchMedia(desk);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(desk).matches,
  );
  useEffect(() => {
    if (chosen === undefined && first !== undefined && isDesk)
      void navigate({ to: "/approvals/$id", params: { id: first }, replace: true });
  }, [chosen, first, isDesk, navigate]);
}

function List({
  inbox: { status, error, reload, more },
  shown,
  open,
  at,
  wanted: { risk, isMine },
}: {
  readonly inbox: Pick<Narrowed, "status" | "error" | "reload" | "more">;
  readonly shown: readonly Approval[];
  readonly open: string | undefined;
  readonly at: number;
  readonly wanted: Wanted;
}): ReactNode {
  const isAway = useLiveState() === "reconnecting";
  if (status === "loading") return <Skeleton rows={8} />;
  if (status === "failed") return <ErrorState error={error} retry={reload} />;
  if (shown.length === 0) {
    if (isAway)
      return (
        <EmptyState icon="warning" title="What waits now is not known">
          Nothing did when Postern last answered. What has been asked since is shown as soon as it answers again.
        </EmptyState>
      );
    if (risk !== undefined) return <EmptyState title="Nothing of this risk waits" />;
    return isMine ? (
      <EmptyState title="Nothing waits for your word">Press “For me” again to see what waits for others.</EmptyState>
    ) : (
      <EmptyState title="Nothing waits for you">
        When an agent calls a tool that needs a person, it appears here within a moment. You can leave this page open.
      </EmptyState>
    );
  }
  return (
    <VirtualList
      label="Requests that wait, the most urgent first"
      rows={shown}
      keyOf={({ approval_id }) => approval_id}
      estimate={76}
      selected={at}
      onEnd={more}
      row={(approval) => <ApprovalRow approval={approval} isOpen={approval.approval_id === open} />}
    />
  );
}

function FilterBar({
  waiting,
  wanted: { risk, isMine },
  onChange,
}: {
  /** None: it is not known yet what waits. */
  readonly waiting: Waiting | undefined;
  readonly wanted: Wanted;
  readonly onChange: (wanted: Wanted) => void;
}): ReactNode {
  const choices = [undefined, ...risks.filter((one) => (waiting?.[one] ?? 0) > 0 || one === risk)];
  const may = useMay();
  return (
    <fieldset className="flex h-11 shrink-0 items-center gap-1 overflow-x-auto border-b border-line px-3">
      <legend className="sr-only">Show by risk</legend>
      {choices.map((one) => (
        <Chip key={one ?? "all"} isOn={one === risk} onClick={() => onChange({ risk: one, isMine })}>
          {one ?? "All"}{" "}
          {waiting !== undefined && (
            <span className="tabular text-[0.8571rem]">{one === undefined ? totalOf(waiting) : waiting[one]}</span>
          )}
        </Chip>
      ))}
      {may("approvals:decide") && (
        <span className="ml-auto pl-2">
          <Chip
            isOn={isMine}
            title="Only what you may decide: routed to you, not asked for by you, not decided by you already"
            onClick={() => onChange({ risk, isMine: !isMine })}
          >
            For me
          </Chip>
        </span>
      )}
    </fieldset>
  );
}

function Chip({
  isOn,
  title,
  onClick,
  children,
}: {
  readonly isOn: boolean;
  readonly title?: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      title={title}
      onClick={onClick}
      className={classNames(
        "h-7 rounded-md px-2 whitespace-nowrap",
        isOn ? "bg-accent-tint font-medium text-accent" : "text-ink-2 hover:bg-hover",
      )}
    >
      {children}
    </button>
  );
}
