/**
 * The requests, as the server sends them: in its order, filtered and counted by it. Events refresh them (live/freshness.ts).
 *
 * Invariant: nothing is shown as pending that the server did not send as pending, and the page never sorts.
 */
import { type Risk, risks } from "@postern/core";
import { type InfiniteData, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef } from "react";
import type { ApprovalsAddress } from "../../address.ts";
import {
  type ApprovalPageView,
  type ApprovalView,
  approvalsOf,
  idOf,
  type Pages,
  queryKeyOf,
  serverNow,
  useAnswer,
  useMay,
  usePages,
} from "../../api/index.ts";

const listKey = ["live", "GET /v1/approvals"] as const;
/** Each refresh reads all pages that were read. */
const pageSize = 100;

export type Requests = Pages<ApprovalPageView, ApprovalView>;

export function useRequests({ state, ...where }: ApprovalsAddress, limit = pageSize): Requests {
  const sent = { state: state ?? "pending", limit, ...where } as const;
  return usePages("GET /v1/approvals", sent, { rowsOf: approvalsOf, keyOf: idOf });
}

type Counts = Readonly<Record<Risk, number>>;

/** How many wait, by risk. Undefined until it is known. */
export function useWaiting(
  where: Pick<ApprovalsAddress, "mine" | "tool" | "agent" | "run_id"> = {},
): Counts | undefined {
  const { mine, tool, agent, run_id } = where;
  const { data } = useAnswer("GET /v1/approvals/groups", { by: "risk", mine, tool, agent, run_id });
  return useMemo(() => {
    const found = new Map(data?.groups.map(({ risk, waiting }) => [risk, waiting]));
    return data && (Object.fromEntries(risks.map((risk) => [risk, found.get(risk) ?? 0])) as Counts); // one number a risk
  }, [data]);
}

export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** How many wait for this person; for a person who decides nothing, how many wait in all. Undefined until it is known. */
export function usePendingCount(): number | undefined {
  const mine = useMay()("approvals:decide") || undefined;
  const waiting = useWaiting({ mine });
  return waiting && totalOf(waiting);
}

/** One request. Until it is read, it is the one of a list. */
export function useRequest(id: string) {
  const client = useQueryClient();
  const listed = useMemo(() => listedIn(client, id), [client, id]);
  const { data, error, refetch } = useAnswer("GET /v1/approvals/{id}", { id });
  return { data: data ?? listed, error, refetch };
}

/** The tool of a request as it is offered now. Undefined until it is known, and if it is not offered any more. */
export function useTool({ what }: Pick<ApprovalView, "what">) {
  const { data } = useAnswer("GET /v1/tools/{name}", { name: what.tool });
  return data?.actions.find(({ action }) => action === what.action);
}

function listedIn(client: QueryClient, id: string): ApprovalView | undefined {
  const lists = client.getQueriesData<InfiniteData<ApprovalPageView>>({ queryKey: listKey });
  for (const [, list] of lists)
    for (const { approvals } of list?.pages ?? []) {
      const found = approvals.find(({ approval_id }) => approval_id === id);
      if (found !== undefined) return found;
    }
  return undefined;
}

/** Keeps a request that the server just sent: on its card, and in or out of the lists of what waits. */
export function useKeepRequest(): (fresh: ApprovalView) => void {
  const client = useQueryClient();
  return useCallback(
    (fresh) => {
      const id = idOf(fresh);
      // An answer to a decision may leave these two out.
      client.setQueryData<ApprovalView>(queryKeyOf("GET /v1/approvals/{id}", { id }), (before) => ({
        ...(before?.input_schema && { input_schema: before.input_schema }),
        ...(before?.viewer && { viewer: before.viewer }),
        ...fresh,
      }));
      const update = (page: ApprovalPageView): ApprovalPageView => ({
        ...page,
        approvals: page.approvals.flatMap((one) => (idOf(one) !== id ? one : fresh.status === "pending" ? fresh : [])),
      });
      client.setQueriesData<InfiniteData<ApprovalPageView>>(
        { queryKey: listKey, predicate: ({ queryKey }) => (queryKey[2] as ApprovalsAddress).state !== "decided" },
        (list) => list && { ...list, pages: list.pages.map(update) },
      );
    },
    [client],
  );
}

export interface Steady {
  readonly shown: readonly ApprovalView[];
  /** Of these, what waits no longer. */
  readonly gone: ReadonlySet<string>;
  /** Came meanwhile, and are not shown yet. */
  readonly arrived: readonly ApprovalView[];
}

const none: ReadonlySet<string> = new Set();

/**
 * While the list is held, no row moves: what goes stays in its place until then, and what comes above is counted. What
 * comes below is added.
 */
export function useSteady(rows: readonly ApprovalView[] | undefined, isHeld: boolean): Steady {
  const before = useRef<readonly ApprovalView[]>([]);
  return useMemo(() => {
    const fresh = rows ?? [];
    const byId = new Map(fresh.map((one) => [idOf(one), one]));
    const known = new Set(before.current.map(idOf));
    const last = fresh.findLastIndex((one) => known.has(idOf(one)));
    if (!isHeld || last === -1) {
      before.current = fresh;
      return { shown: fresh, gone: none, arrived: [] };
    }
    const gone = new Set([...known].filter((id) => !byId.has(id)));
    const arrived = fresh.slice(0, last + 1).filter((one) => !known.has(idOf(one)));
    before.current = [...before.current.map((one) => byId.get(idOf(one)) ?? one), ...fresh.slice(last + 1)];
    return { shown: before.current, gone, arrived };
  }, [rows, isHeld]);
}

const openedMs = serverNow();
const looked = new Set<string>();

/** It came after the page was opened, and was not looked at yet. */
export function isNew({ approval_id, created_at, status }: ApprovalView): boolean {
  return status === "pending" && Date.parse(created_at) > openedMs && !looked.has(approval_id);
}

export function lookedAt(id: string): void {
  looked.add(id);
}
