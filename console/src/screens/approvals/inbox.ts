/**
 * The waiting requests, kept fresh by the feed. After an event the page reads its request again; after many events at once
 * or a missed one, it reads the whole list again.
 *
 * Invariant: nothing is shown as pending that the server did not send as pending. The list is the beginning of what
 * waits, by urgency and without a gap, as far as it was scrolled to.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import {
  type ApprovalPageView,
  type ApprovalView,
  listPending,
  mayDecide,
  Problem,
  readApproval,
  useMay,
  type WaitingCounts,
} from "../../api/index.ts";
import { SharedValue, useShared } from "../../kit/shared-value.ts";
import { useFeed } from "../../live/feed.ts";
import { byUrgency, urgencyOf } from "./urgency.ts";

interface InboxState {
  readonly approvals: readonly ApprovalView[];
  readonly status: "loading" | "ready" | "failed";
  readonly error: unknown;
  readonly hasMore: boolean;
  /** By risk, when the list was last read from its start. */
  readonly waiting: WaitingCounts | undefined;
}

export interface InboxList extends InboxState {
  readonly reload: () => void;
  readonly more: () => void;
}

const empty: InboxState = {
  approvals: [],
  status: "loading",
  error: undefined,
  hasMore: false,
  waiting: undefined,
};
/** When more requests change at once, the whole list is read again. */
const mostAtOnce = 20;
/** So many requests are read again at once; the rest when the list is scrolled to them. */
const mostReadAgain = 1_000;
/** Between tries while Postern does not answer. */
const longestPauseMs = 15_000;

class Inbox {
  readonly state = new SharedValue(empty);
  #items = new Map<string, ApprovalView>();
  #after: string | undefined;
  /** The list was read up to this urgency; a less urgent request is shown when its page is read. */
  #readTo = Infinity;
  #isReading = false;
  #isReloading = false;
  #isStale = false;
  #touched = new Set<string>();
  /** Changed while a page was being read: the page may have older versions of these. */
  #touchedMeanwhile = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #owner: string | undefined;
  /** Answers to requests of an earlier epoch are dropped. */
  #epoch = 0;

  /** Opens it for a person. What another person saw is removed at once. */
  open(owner: string): void {
    if (this.#owner !== undefined && this.#owner !== owner) {
      this.#items.clear();
      this.#show(empty);
    }
    this.#owner = owner;
    void this.reload();
  }

  /**
   * Reads from the start, as far as was read before; the list stays until all of it is there. Under load the next reload
   * begins when this one is done.
   */
  async reload(): Promise<void> {
    this.#isStale = true;
    if (this.#isReloading) return;
    this.#isReloading = true;
    let failures = 0;
    while (this.#isStale) {
      this.#isStale = false;
      failures = (await this.#readAgain()) ? 0 : failures + 1;
      if (failures > 0) this.#isStale = true; // the list may be old until it is read
      if (this.#isStale) await pause(failures === 0 ? 300 : Math.min(longestPauseMs, 500 * 2 ** Math.min(failures, 6)));
    }
    this.#isReloading = false;
  }

  async more(): Promise<void> {
    if (this.#isReading || this.#isReloading || !this.state.value.hasMore) return;
    this.#isReading = true;
    const epoch = this.#epoch;
    try {
      const page = await listPending({ after: this.#after });
      if (epoch !== this.#epoch) return;
      for (const approval of page.approvals) this.#items.set(approval.approval_id, approval);
      this.#readAsFarAs(page);
      this.#show({ hasMore: page.next_after !== undefined });
    } catch {
      // The list reads it again when its end is scrolled to.
    } finally {
      this.#isReading = false;
      const older = [...this.#touchedMeanwhile];
      this.#touchedMeanwhile.clear();
      for (const id of older) this.touch(id);
    }
  }

  /** Reads this request again. Several at the same time are read together. */
  touch(id: string): void {
    this.#touched.add(id);
    if (this.#isReloading) this.#isStale = true; // the running read may be older than this event
    if (this.#isReading) this.#touchedMeanwhile.add(id);
    this.#timer ??= setTimeout(() => void this.#readTouched(), 15);
  }

  /** A request that the server just sent. */
  put(approval: ApprovalView): void {
    if (approval.status === "pending") this.#items.set(approval.approval_id, approval);
    else if (!this.#items.delete(approval.approval_id)) return;
    this.#show({ status: "ready", error: undefined });
  }

  /** Returns whether the list is fresh. */
  async #readAgain(): Promise<boolean> {
    this.#epoch += 1;
    const owner = this.#owner;
    const fresh = new Map<string, ApprovalView>();
    const pages: ApprovalPageView[] = [];
    let after: string | undefined;
    try {
      do {
        const page = await listPending({ after });
        pages.push(page);
        for (const approval of page.approvals) fresh.set(approval.approval_id, approval);
        after = page.next_after;
      } while (after !== undefined && fresh.size < Math.min(this.state.value.approvals.length, mostReadAgain));
    } catch (error) {
      if (this.#items.size === 0) this.#show({ status: "failed", error });
      return error instanceof Problem && error.status > 0 && error.status < 500; // a refusal is final
    }
    if (owner !== this.#owner) return true; // another person signed in, and the list is being read again
    this.#items = fresh;
    this.#readAsFarAs(pages.at(-1));
    this.#show({ status: "ready", error: undefined, hasMore: after !== undefined, waiting: pages[0]?.waiting });
    return true;
  }

  async #readTouched(): Promise<void> {
    const ids = [...this.#touched];
    this.#touched.clear();
    this.#timer = undefined;
    if (ids.length > mostAtOnce) return this.reload();
    const epoch = this.#epoch;
    const found = await Promise.all(ids.map(readOrGone));
    if (epoch !== this.#epoch) return;
    found.forEach((approval, at) => {
      const id = ids[at];
      if (approval === "unclear" || id === undefined) return;
      if (approval !== undefined && approval.status === "pending") this.#items.set(id, approval);
      else this.#items.delete(id);
    });
    this.#show({});
  }

  #readAsFarAs({ approvals, next_after }: ApprovalPageView = { approvals: [] }): void {
    const last = approvals.at(-1);
    this.#after = next_after;
    this.#readTo = next_after === undefined || last === undefined ? Infinity : urgencyOf(last);
  }

  #show(change: Partial<InboxState>): void {
    const shown = [...this.#items.values()].filter((approval) => urgencyOf(approval) <= this.#readTo);
    this.state.set({ ...this.state.value, ...change, approvals: shown.sort(byUrgency) });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function readOrGone(id: string): Promise<ApprovalView | undefined | "unclear"> {
  try {
    return await readApproval(id);
  } catch (error) {
    return error instanceof Problem && error.status === 404 ? undefined : "unclear";
  }
}

const inbox = new Inbox();

/** A role or an account changed: on every card, others may decide. */
const changesWhoMay = /^(?:approval\.deciders|operator\.action\.(?:account|token))/;

/** Once for the page: reads the inbox and keeps it fresh, whichever screen is open. */
export function useInboxKept(userId: string | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    if (userId !== undefined) inbox.open(userId);
  }, [userId]);
  useFeed(
    ({ approval_id, type }) => {
      if (approval_id === undefined) {
        if (!changesWhoMay.test(type)) return;
        void client.invalidateQueries({ queryKey: ["approval"] });
        void inbox.reload();
        return;
      }
      inbox.touch(approval_id);
      void client.invalidateQueries({ queryKey: ["approval", approval_id] });
    },
    () => void inbox.reload(),
  );
}

export function useInbox(): InboxList & { readonly put: (approval: ApprovalView) => void } {
  const state = useShared(inbox.state, (state) => state);
  return useMemo(
    () => ({
      ...state,
      reload: () => void inbox.reload(),
      more: () => void inbox.more(),
      put: (approval: ApprovalView) => inbox.put(approval),
    }),
    [state],
  );
}

/** How many wait, by risk. The server counts them when not all are here. Undefined until it is known. */
export function useWaiting(): WaitingCounts | undefined {
  const { approvals, hasMore, status, waiting } = useShared(inbox.state, (state) => state);
  const { data } = useQuery({
    queryKey: ["live", "approvals", "waiting"],
    queryFn: async ({ signal }) => (await listPending({ limit: 1 }, signal)).waiting ?? null,
    enabled: hasMore,
  });
  return useMemo(() => {
    if (status !== "ready") return undefined;
    return hasMore ? (data ?? waiting) : countsOf(approvals);
  }, [approvals, hasMore, status, waiting, data]);
}

export function totalOf(waiting: WaitingCounts): number {
  return Object.values(waiting).reduce((sum, count) => sum + count, 0);
}

function countsOf(approvals: readonly ApprovalView[]): WaitingCounts {
  const counts = { safe: 0, medium: 0, high: 0, critical: 0 };
  for (const { risk_level: risk } of approvals) counts[risk] += 1;
  return counts;
}

/** How many wait for this person; for a person who decides nothing, how many wait in all. Undefined until it is known. */
export function usePendingCount(): string | undefined {
  const may = useMay();
  const decides = may("approvals:decide");
  const { approvals, hasMore, status } = useShared(inbox.state, (state) => state);
  const all = useWaiting();
  const { data: mine } = useQuery({
    queryKey: ["live", "approvals", "mine"],
    queryFn: async ({ signal }) => (await listPending({ mine: true, limit: 1 }, signal)).waiting ?? null,
    enabled: decides && hasMore,
  });
  return useMemo(() => {
    if (!decides) return all && String(totalOf(all));
    if (hasMore) return mine ? String(totalOf(mine)) : undefined;
    return status === "ready" ? String(approvals.filter((one) => mayDecide(one, "approve")).length) : undefined;
  }, [decides, all, approvals, hasMore, status, mine]);
}
