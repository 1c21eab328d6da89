import { useMemo } from "react";
import { type ApprovalView, approvalsOf, idOf, listPending, type WaitingCounts } from "../../api/approvals.ts";
import { usePages } from "../../api/use-pages.ts";
import type { Wanted } from "./list-head.tsx";
import { byUrgency } from "./urgency.ts";

export interface Narrowed {
  readonly approvals: readonly ApprovalView[];
  /** Of any risk. */
  readonly waiting: WaitingCounts | undefined;
  readonly status: "loading" | "ready" | "failed";
  readonly error: unknown;
  readonly hasMore: boolean;
  readonly reload: () => void;
  readonly more: () => void;
}

/** The part of what waits that is wanted, as the server lists it. Undefined: nothing is asked. */
export function useNarrowed(wanted: Pick<Wanted, "risk" | "isMine"> | undefined): Narrowed {
  const { risk, isMine = false } = wanted ?? {};
  const { rows, first, error, again, more, hasMore } = usePages({
    queryKey: ["live", "approvals", "narrowed", risk, isMine],
    read: (after, signal) => listPending(after, { risk, mine: isMine || undefined, signal }),
    rowsOf: approvalsOf,
    keyOf: idOf,
    enabled: wanted !== undefined,
  });
  const approvals = useMemo(() => [...(rows ?? [])].sort(byUrgency), [rows]);
  const status = rows !== undefined ? "ready" : error === null ? "loading" : "failed";
  return { approvals, waiting: first?.waiting, status, error, hasMore, reload: again, more };
}
