import { useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { classNames } from "../../kit/class-names.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { DecidedList } from "./decided-list.tsx";
import { useInbox, useWaiting } from "./inbox.ts";
import { ListHead, type Wanted } from "./list-head.tsx";
import { type Narrowed, useNarrowed } from "./narrowed.ts";
import { isFound } from "./search.ts";
import { Standing } from "./standing.tsx";
import { useKeys } from "./use-keys.ts";
import { WaitingList } from "./waiting-list.tsx";

/** A card has an address of its own: what was chosen stays chosen on the way to it and back. */
let wantedLast: Wanted = { isDecided: false, words: "", risk: undefined, isMine: false, isUnused: false };

/** List and card side by side; on a phone the list leads to the card. */
export function ApprovalsScreen(): ReactNode {
  const { id } = useParams({ strict: false });
  const navigate = useNavigate();
  const [wanted, setWanted] = useState(wantedLast);
  const [following, setFollowing] = useState<string>();
  const { isDecided, isMine, words, isUnused } = wanted;
  const { inbox, shown } = useWanted(wanted);
  const waiting = useWaiting();
  const want = (change: Partial<Wanted>): void => {
    wantedLast = { ...wanted, ...change };
    setWanted(wantedLast);
  };
  const at = shown.findIndex(({ approval_id }) => approval_id === id);
  const go = (to: string | undefined): void =>
    void navigate(to === undefined ? { to: "/approvals" } : { to: "/approvals/$id", params: { id: to } });
  useFirstChoice(id, isDecided ? undefined : shown[0]?.approval_id);
  const step = (by: number): void => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) go(next.approval_id);
  };
  /** After a decision: the next one down, without a jump back to the top. What was decided before stays in sight. */
  const next = (decided: string): void => {
    if (isDecided) return;
    const from = shown.findIndex(({ approval_id }) => approval_id === decided);
    const after = shown[from + 1] ?? shown[from - 1];
    setFollowing(after?.approval_id);
    go(after?.approval_id === decided ? undefined : after?.approval_id);
  };
  useKeys(isDecided ? {} : { j: () => step(1), k: () => step(-1) });
  return (
    <div className="flex h-full min-h-0">
      <div
        className={classNames(
          "flex min-h-0 w-full flex-col border-line bg-surface lg:w-[23rem] lg:shrink-0 lg:border-r",
          id !== undefined && "max-lg:hidden",
        )}
      >
        <ListHead waiting={isMine ? inbox.waiting : waiting} wanted={wanted} onChange={want} />
        <div className="min-h-0 flex-1">
          {isDecided ? (
            <DecidedList open={id} words={words} isUnused={isUnused} />
          ) : (
            <WaitingList inbox={inbox} shown={shown} open={id} wanted={wanted} />
          )}
        </div>
        <Standing />
      </div>
      <div className={classNames("min-h-0 min-w-0 flex-1", id === undefined && "max-lg:hidden")}>
        {id === undefined ? (
          inbox.status === "ready" && (
            <p className="px-6 py-14 text-center text-ink-3">What waits for you is shown here.</p>
          )
        ) : (
          <ApprovalCard key={id} id={id} isNext={id === following} onDecided={next} onBack={() => go(undefined)} />
        )}
      </div>
    </div>
  );
}

/** What of all that waits is wanted. Where not all of it is here, what is of a risk may lie beyond what was read. */
function useWanted({ risk, isMine, words }: Wanted): {
  readonly inbox: Narrowed;
  readonly shown: readonly ApprovalView[];
} {
  const all = useInbox();
  const isNarrowed = isMine || (risk !== undefined && all.hasMore);
  const narrowed = useNarrowed(isNarrowed ? { risk, isMine } : undefined);
  const inbox = isNarrowed ? narrowed : all;
  const shown = useMemo(
    () => inbox.approvals.filter((one) => (risk === undefined || one.risk_level === risk) && isFound(one, words)),
    [inbox.approvals, risk, words],
  );
  return { inbox, shown };
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
