/**
 * What waits for people, kept fresh by the feed: one request is read anew when something happens to it, everything when
 * too much happens at once or something was missed.
 *
 * Invariant: nothing is shown as pending that the server did not say is; a page keeps at most what was scrolled to.
 */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { type Approval, listPending, readApproval } from "../../api/approvals.ts";
import { Problem } from "../../api/problem.ts";
import { useFeed } from "../../live/feed.ts";

export interface InboxState {
  readonly approvals: readonly Approval[];
  readonly status: "loading" | "ready" | "failed";
  readonly error: unknown;
  readonly hasMore: boolean;
}

const empty: InboxState = { approvals: [], status: "loading", error: undefined, hasMore: false };
/** More at once than this, and the list is read again as a whole. */
const mostAtOnce = 20;
/** Of a long list, so much is read again at once; the rest when it is scrolled to. */
const mostReadAgain = 1_000;

const urgency = new Map([
  ["critical", 0],
  ["high", 1],
  ["medium", 2],
  ["safe", 3],
]);

/** What ends first comes first; of those that end in the same minute, the riskiest. */
export function byUrgency(a: Approval, b: Approval): number {
  const sooner = minuteOf(a) - minuteOf(b);
  const risk = (urgency.get(a.risk_level) ?? 0) - (urgency.get(b.risk_level) ?? 0);
  return sooner || risk || a.expires_at.localeCompare(b.expires_at) || a.approval_id.localeCompare(b.approval_id);
}

/** Sorting asks for it thousands of times. */
const minutes = new WeakMap<Approval, number>();

function minuteOf(approval: Approval): number {
  const known = minutes.get(approval);
  if (known !== undefined) return known;
  const minute = Math.floor(Date.parse(approval.expires_at) / 60_000);
  minutes.set(approval, minute);
  return minute;
}

class Inbox {
  #state = empty;
  #items = new Map<string, Approval>();
  #after: string | undefined;
  #isReading = false;
  #isReloading = false;
  #isStale = false;
  #touched = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #owner: string | undefined;
  /** Reading begun before the last reload is not believed. */
  #epoch = 0;
  readonly #listeners = new Set<() => void>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly state = (): InboxState => this.#state;

  /** For this person: what another one saw is not shown, not for a moment. */
  open(owner: string): void {
    if (this.#owner !== undefined && this.#owner !== owner) {
      this.#items.clear();
      this.#tell(empty);
    }
    this.#owner = owner;
    void this.reload();
  }

  /**
   * From the start, as far as was read before; what is shown stays until all of it is there. One at a time: in a storm
   * the next one begins when this one is done, not instead of it.
   */
  async reload(): Promise<void> {
    this.#isStale = true;
    if (this.#isReloading) return;
    this.#isReloading = true;
    while (this.#isStale) {
      this.#isStale = false;
      await this.#readAgain();
      if (this.#isStale) await new Promise((resolve) => setTimeout(resolve, 300));
    }
    this.#isReloading = false;
  }

  async more(): Promise<void> {
    if (this.#isReading || this.#isReloading || !this.#state.hasMore) return;
    this.#isReading = true;
    const epoch = this.#epoch;
    try {
      const { approvals, next_after } = await listPending(this.#after);
      if (epoch !== this.#epoch) return;
      for (const approval of approvals) this.#items.set(approval.approval_id, approval);
      this.#after = next_after;
      this.#tell({ hasMore: next_after !== undefined });
    } catch {
      // What is shown stays; the end of the list asks again when it is scrolled to.
    } finally {
      this.#isReading = false;
    }
  }

  /** Something happened to it. Several in one moment are read together. */
  touch(id: string): void {
    this.#touched.add(id);
    if (this.#isReloading) this.#isStale = true; // what is being read may be older than this
    this.#timer ??= setTimeout(() => void this.#readTouched(), 15);
  }

  /** What the server said just now about one. */
  put(approval: Approval): void {
    if (approval.status === "pending") this.#items.set(approval.approval_id, approval);
    else if (!this.#items.delete(approval.approval_id)) return;
    this.#tell({ status: "ready", error: undefined });
  }

  async #readAgain(): Promise<void> {
    this.#epoch += 1;
    const owner = this.#owner;
    const fresh = new Map<string, Approval>();
    let after: string | undefined;
    try {
      do {
        const page = await listPending(after);
        for (const approval of page.approvals) fresh.set(approval.approval_id, approval);
        after = page.next_after;
      } while (after !== undefined && fresh.size < Math.min(this.#items.size, mostReadAgain));
    } catch (error) {
      if (this.#items.size === 0) this.#tell({ status: "failed", error });
      return;
    }
    if (owner !== this.#owner) return; // another person's: read anew
    this.#items = fresh;
    this.#after = after;
    this.#tell({ status: "ready", error: undefined, hasMore: after !== undefined });
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
    this.#tell({});
  }

  #tell(change: Partial<InboxState>): void {
    this.#state = { ...this.#state, ...change, approvals: [...this.#items.values()].sort(byUrgency) };
    for (const listener of this.#listeners) listener();
  }
}

async function readOrGone(id: string): Promise<Approval | undefined | "unclear"> {
  try {
    return await readApproval(id);
  } catch (error) {
    return error instanceof Problem && error.status === 404 ? undefined : "unclear";
  }
}

const inbox = new Inbox();

/** Once for the page: reads the inbox and keeps it fresh, whichever screen is open. */
export function useInboxKept(userId: string | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    if (userId !== undefined) inbox.open(userId);
  }, [userId]);
  useFeed(
    ({ approval_id }) => {
      if (approval_id === undefined) return;
      inbox.touch(approval_id);
      void client.invalidateQueries({ queryKey: ["approval", approval_id] });
    },
    () => void inbox.reload(),
  );
}

export function useInbox(): InboxState & {
  readonly reload: () => void;
  readonly more: () => void;
  readonly put: (approval: Approval) => void;
} {
  const state = useSyncExternalStore(inbox.subscribe, inbox.state);
  return useMemo(
    () => ({
      ...state,
      reload: () => void inbox.reload(),
      more: () => void inbox.more(),
      put: (approval: Approval) => inbox.put(approval),
    }),
    [state],
  );
}

/** `7`, or `200+` when there are more than were read. */
export function usePendingCount(): string | undefined {
  const { approvals, hasMore, status } = useSyncExternalStore(inbox.subscribe, inbox.state);
  return status === "loading" ? undefined : `${approvals.length}${hasMore ? "+" : ""}`;
}
