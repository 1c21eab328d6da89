import { getRouteApi } from "@tanstack/react-router";
import { type PointerEvent, type ReactNode, useCallback, useEffect, useState, useSyncExternalStore } from "react";
import type { ApprovalsAddress } from "../../address.ts";
import { idOf, useAnswer, useMay } from "../../api/index.ts";
import { Button, Card, classNames, Dialog, late, number, Text, useKeys } from "../../kit/index.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { RequestGroups } from "./groups.tsx";
import { ListHead, RequestList } from "./lists.tsx";
import { isNew, lookedAt, type Steady, useRequests, useSteady } from "./requests.ts";

const ConnectAgent = late(async () => (await import("../connect/connect-agent.tsx")).ConnectAgent);
const Grants = late(async () => (await import("./grants.tsx")).Grants);
const route = getRouteApi("/approvals/{-$request}");

/** List and card side by side; on a phone the list leads to the card. */
export function ApprovalsScreen(): ReactNode {
  const { request: id } = route.useParams();
  const wanted = route.useSearch();
  const go = useGo();
  const [following, setFollowing] = useState<string>();
  const [isHeld, setIsHeld] = useState(false);
  const requests = useRequests(wanted);
  const steady = useSteady(requests.rows, isHeld);
  const { shown } = steady;
  const decides = useMay()("approvals:decide");
  const isDecided = wanted.state !== undefined;
  useEffect(() => {
    if (id !== undefined) lookedAt(id);
  }, [id]);
  const want = (change: Partial<ApprovalsAddress>): void => {
    // The open card is of the other list.
    const isOther = "state" in change && (change.state === undefined) !== (wanted.state === undefined);
    go(isOther ? undefined : id, { ...wanted, ...change }, true);
  };
  const at = shown.findIndex((one) => idOf(one) === id);
  useFirstChoice(id, isDecided ? undefined : shown[0]?.approval_id);
  const step = (by: number): void => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) go(idOf(next), wanted);
  };
  /** After a decision: the next one down. A card of the decided list stays open. */
  const next = (decided: string): void => {
    if (isDecided) return;
    const from = shown.findIndex((one) => idOf(one) === decided);
    const after = [...shown.slice(from + 1), ...shown.slice(0, Math.max(0, from)).toReversed()].find(
      (one) => idOf(one) !== decided && !steady.gone.has(idOf(one)),
    );
    setFollowing(after?.approval_id);
    go(after?.approval_id, wanted, true); // back leads to the list, not to what was decided
  };
  useKeys(isDecided ? {} : { j: () => step(1), k: () => step(-1) });
  // A finger moves the list and then lies on it: only a mouse holds it.
  const hold = (isIn: boolean) => (event: PointerEvent) => setIsHeld(isIn && event.pointerType === "mouse");
  if (useIsUnused(wanted, requests.rows)) return <FirstMinute />;
  return (
    <div className="flex h-full min-h-0">
      <div
        className={classNames(
          "flex min-h-0 w-full flex-col border-line bg-surface lg:w-[23rem] lg:shrink-0 lg:border-r",
          id !== undefined && "max-lg:hidden",
        )}
      >
        <ListHead wanted={wanted} mayDecide={decides} onChange={want} />
        <RequestGroups wanted={wanted} isHeld={isHeld} />
        {id !== undefined && (
          <a
            href="#request"
            className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:bg-surface focus:p-2"
          >
            Skip the list
          </a>
        )}
        <div className="relative flex min-h-0 flex-1 flex-col" onPointerEnter={hold(true)} onPointerLeave={hold(false)}>
          <RequestList requests={requests} steady={steady} open={id} wanted={wanted} />
          {!isDecided && <Arrived steady={steady} open={id} onOpen={(one) => go(one, wanted)} />}
        </div>
        <RememberedApprovals />
      </div>
      <div className={classNames("min-h-0 min-w-0 flex-1", id === undefined && "max-lg:hidden")}>
        {id === undefined ? (
          requests.rows !== undefined && (
            <p className="px-6 py-14 text-center text-ink-3">
              {isDecided ? "Choose a request." : "A request that waits for you is shown here."}
            </p>
          )
        ) : (
          <ApprovalCard
            key={id}
            id={id}
            isNext={id === following}
            onDecided={next}
            onBack={() => go(undefined, wanted)}
          />
        )}
      </div>
    </div>
  );
}

/** Whether no call was ever made. It is asked only where nothing waits. */
function useIsUnused(wanted: ApprovalsAddress, rows: readonly unknown[] | undefined): boolean {
  const mayBe = useMay()("calls:read") && rows?.length === 0 && Object.keys(wanted).length === 0;
  const { data } = useAnswer("GET /v1/calls", { limit: 1 }, { enabled: mayBe });
  return mayBe && data?.calls.length === 0;
}

/** Instead of empty lists. */
function FirstMinute(): ReactNode {
  return (
    <div className="mx-auto grid w-full max-w-3xl gap-4 p-4 lg:p-6">
      <p className="text-ink-2">No agent has called a tool yet. Requests that need approval will be shown here.</p>
      <Card title="Connect an agent" body="">
        <ConnectAgent onClose={() => undefined} />
      </Card>
    </div>
  );
}

function useGo() {
  const navigate = route.useNavigate();
  return useCallback(
    (request: string | undefined, search: ApprovalsAddress, replace = false) =>
      void navigate({ to: "/approvals/{-$request}", params: { request }, search, replace }),
    [navigate],
  );
}

type ArrivedProps = Readonly<{ steady: Steady; open: string | undefined; onOpen: (id: string) => void }>;

/** Over the end of the list, so that no row moves: new critical requests, and what came while the list was held. */
function Arrived({ steady: { shown, arrived }, open, onOpen }: ArrivedProps): ReactNode {
  const critical = [...arrived, ...shown].filter(
    (one) => one.risk_level === "critical" && isNew(one) && idOf(one) !== open,
  );
  const [first] = critical;
  return (
    <div
      role="status"
      className="pointer-events-none absolute inset-x-0 bottom-2 grid justify-items-center gap-1.5 px-3"
    >
      {first !== undefined && (
        <Button
          look="danger"
          icon="warning"
          className="pointer-events-auto max-w-full shadow-over"
          onClick={() => onOpen(idOf(first))}
        >
          <span className="truncate">
            {critical.length === 1 ? "New and critical: " : `${number(critical.length)} new and critical: `}
            <Text>{first.what.tool}</Text>
          </span>
        </Button>
      )}
      {arrived.length > 0 && (
        <span className="rounded-full border border-line bg-raised px-3 py-1 text-ink-2 shadow-over">
          {number(arrived.length)} new above: shown when the pointer leaves the list
        </span>
      )}
    </div>
  );
}

const wideScreen = "(min-width: 64rem)"; // as `lg:` has it

/** A wide screen opens the most urgent request and keeps it open: a more urgent one that comes later does not replace it. */
function useFirstChoice(chosen: string | undefined, first: string | undefined): void {
  const go = useGo();
  const wanted = route.useSearch();
  const isWide = useSyncExternalStore(
    (listener) => {
      const query = matchMedia(wideScreen);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(wideScreen).matches,
  );
  useEffect(() => {
    if (chosen === undefined && first !== undefined && isWide) go(first, wanted, true);
  }, [chosen, first, isWide, wanted, go]);
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
