import { useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { type ApprovalView, approvalsOf, idOf, useMay, usePages } from "../../api/index.ts";
import { Button, classNames, Dialog, late } from "../../kit/index.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { useKeys } from "./deciding.ts";
import { type InboxList, useInbox, useWaiting } from "./inbox.ts";
import { DecidedList, isFound, ListHead, WaitingList, type Wanted } from "./lists.tsx";
import { byUrgency } from "./urgency.ts";

const Grants = late(async () => (await import("./grants.tsx")).Grants);

/** Kept on the way to a card and back: a card has its own address. */
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
  const decides = useMay()("approvals:decide");
  const want = (change: Partial<Wanted>): void => {
    wantedLast = { ...wanted, ...change };
    setWanted(wantedLast);
  };
  const at = shown.findIndex((one) => idOf(one) === id);
  const go = (to: string | undefined): void =>
    void navigate(to === undefined ? { to: "/approvals" } : { to: "/approvals/$id", params: { id: to } });
  useFirstChoice(id, isDecided ? undefined : shown[0]?.approval_id);
  const step = (by: number): void => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) go(idOf(next));
  };
  /** After a decision: the next one down. A card of the decided list stays open. */
  const next = (decided: string): void => {
    if (isDecided) return;
    const from = shown.findIndex((one) => idOf(one) === decided);
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
        <ListHead waiting={isMine ? inbox.waiting : waiting} wanted={wanted} mayDecide={decides} onChange={want} />
        <div className="min-h-0 flex-1">
          {isDecided ? (
            <DecidedList open={id} words={words} isUnused={isUnused} />
          ) : (
            <WaitingList inbox={inbox} shown={shown} open={id} wanted={wanted} />
          )}
        </div>
        <RememberedApprovals />
      </div>
      <div className={classNames("min-h-0 min-w-0 flex-1", id === undefined && "max-lg:hidden")}>
        {id === undefined ? (
          inbox.status === "ready" && (
            <p className="px-6 py-14 text-center text-ink-3">A request that waits for you is shown here.</p>
          )
        ) : (
          <ApprovalCard key={id} id={id} isNext={id === following} onDecided={next} onBack={() => go(undefined)} />
        )}
      </div>
    </div>
  );
}

/** The waiting requests that are wanted. When not all are here, the server filters: some of a risk may not be read yet. */
function useWanted({ risk, isMine, words }: Wanted): {
  readonly inbox: InboxList;
  readonly shown: readonly ApprovalView[];
} {
  const all = useInbox();
  const isFiltered = isMine || (risk !== undefined && all.hasMore);
  const sent = { state: "pending", limit: 200, risk, mine: isMine || undefined } as const;
  const pages = usePages("GET /v1/approvals", sent, { rowsOf: approvalsOf, keyOf: idOf, enabled: isFiltered });
  const { rows, first, error, again, more, hasMore } = pages;
  const sorted = useMemo(() => [...(rows ?? [])].sort(byUrgency), [rows]);
  const status = rows !== undefined ? "ready" : error === null ? "loading" : "failed";
  const filtered = { approvals: sorted, waiting: first?.waiting, status, error, hasMore, reload: again, more } as const;
  const inbox = isFiltered ? filtered : all;
  const shown = useMemo(
    () => inbox.approvals.filter((one) => (risk === undefined || one.risk_level === risk) && isFound(one, words)),
    [inbox.approvals, risk, words],
  );
  return { inbox, shown };
}

const wideScreen = "(min-width: 64rem)"; // as `lg:` has it

/** A wide screen opens the most urgent request and keeps it open: a more urgent one that comes later does not replace it. */
function useFirstChoice(chosen: string | undefined, first: string | undefined): void {
  const navigate = useNavigate();
  const isWide = useSyncExternalStore(
    (listener) => {
      const query = matchMedia(wideScreen);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(wideScreen).matches,
  );
  useEffect(() => {
    if (chosen === undefined && first !== undefined && isWide)
      void navigate({ to: "/approvals/$id", params: { id: first }, replace: true });
  }, [chosen, first, isWide, navigate]);
}

/** Under the list: decisions that hold for more than one request. */
function RememberedApprovals(): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const close = (): void => setIsOpen(false);
  return (
    <div className="flex h-11 shrink-0 items-center border-t border-line px-2">
      <Button look="plain" size="small" icon="clock" onClick={() => setIsOpen(true)}>
        Remembered
      </Button>
      <Dialog title="Remembered approvals" open={isOpen} wide onClose={close}>
        <Grants onClose={close} />
      </Dialog>
    </div>
  );
}
