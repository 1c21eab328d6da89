import { type ApprovalRecord, type Clock, commentedType, messageOf } from "@postern/core";
import type { Caller } from "../call/session.ts";
import type { Store, StoreEntry } from "../store/store.ts";
import { commentNote } from "./comments.ts";
import { commentedIn, newsOfOthers, type RequestNews } from "./news.ts";

/** How a wait for a person ended. After `decided`, read the request. */
export type WaitEnd = "decided" | "timed_out" | "cancelled";

interface WaitingCaller {
  readonly decided: () => void;
  readonly commented: () => void;
}

/** The callers that wait for a decision. One follower of the store serves all of them. */
export class WaitingCallers implements Disposable {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: (problem: string) => void;
  readonly #waiters = new Map<string, Set<WaitingCaller>>();
  readonly #overs = new Map<string, () => void>();
  readonly #stops = new Set<() => void>();
  readonly #following: Disposable;
  #stopped = false;

  constructor(store: Store, clock: Clock, log: (problem: string) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#following = store.follow((entries) => {
      if (this.#waiters.size === 0 && this.#overs.size === 0) return;
      for (const entry of entries) {
        const { id, news } = newsIn(entry) ?? {};
        if (id !== undefined && news !== undefined) this.#wake(id, news);
      }
    });
  }

  /** Waits as long as the caller's patience, its session's limits and deadline, and the request's own expiry allow. Aborting the signal ends it. */
  async for(approval: ApprovalRecord, caller: Caller): Promise<WaitEnd> {
    const { session, signal, deadline } = caller;
    if (signal?.aborted === true) return "cancelled";
    if (this.#stopped) return "timed_out";
    const leftMs = deadline === undefined ? Number.POSITIVE_INFINITY : deadline - this.#clock.monotonic();
    const waitMs = Math.min(
      session.limits.approvalWaitMs,
      caller.approvalWaitMs ?? Number.POSITIVE_INFINITY,
      session.remainingMs(),
    );
    const { promise, resolve } = Promise.withResolvers<WaitEnd>();
    const decided = (): void => resolve("decided");
    const cancelled = (): void => resolve("cancelled");
    const timedOut = (): void => resolve("timed_out");
    this.#stops.add(timedOut);
    const waiters = this.#waiters.get(approval.id) ?? new Set();
    const commented = this.#teller(approval, caller);
    const waiter = { decided, commented };
    this.#waiters.set(approval.id, waiters.add(waiter));
    const untilExpiry = approval.expiresAt - this.#clock.now();
    const cancels = [
      this.#clock.in(Math.min(waitMs, leftMs), leftMs <= waitMs ? cancelled : timedOut),
      this.#clock.in(Math.max(0, untilExpiry), decided), // expired: the gate finds out when the call enters again
    ];
    signal?.addEventListener("abort", cancelled, { once: true });
    try {
      const now = await this.#store.approval(approval.id);
      if (now?.state !== "pending") decided(); // decided before the follower was added
      if (now?.comments !== undefined) commented();
      return await promise;
    } finally {
      for (const cancel of cancels) cancel();
      signal?.removeEventListener("abort", cancelled);
      this.#stops.delete(timedOut);
      waiters.delete(waiter);
      if (waiters.size === 0) {
        this.#waiters.delete(approval.id);
        this.#overs.get(approval.id)?.();
      }
    }
  }

  /** Ends all waits as timed out. The requests stay open. */
  stop(): void {
    this.#stopped = true;
    for (const timedOut of [...this.#stops]) timedOut();
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
  }

  /** Calls `over` when the request ends or its last waiting caller leaves. The returned function cancels this. */
  whenOver(id: string, over: () => void): () => void {
    this.#overs.set(id, over);
    return () => {
      if (this.#overs.get(id) === over) this.#overs.delete(id);
    };
  }

  #wake(id: string, news: RequestNews["news"]): void {
    const waiters = this.#waiters.get(id) ?? [];
    if (news === "commented") for (const { commented } of waiters) commented();
    if (news !== "ended") return;
    this.#overs.get(id)?.();
    for (const { decided } of waiters) decided();
  }

  /** Passes the comments that came since to the caller's progress. */
  #teller({ id, runId, principal, comments: before = [] }: ApprovalRecord, { progress }: Caller): () => void {
    if (progress === undefined) return () => {};
    let known = before.length;
    const tell = async (): Promise<void> => {
      const { comments = [] } = (await this.#store.approval(id)) ?? {};
      const fresh = comments.slice(known);
      known += fresh.length;
      for (const comment of fresh)
        await progress({
          agentId: principal.agent,
          step: "TOOL_COMMENT",
          content: commentNote(comment),
          runId,
          seq: 0,
        });
    };
    return () =>
      void tell().catch((error: unknown) => this.#log(`A comment on \`${id}\` was not passed on: ${messageOf(error)}`));
  }
}

/** What the entry says of a request. */
function newsIn(entry: StoreEntry): RequestNews | undefined {
  const { event } = entry;
  if (event === undefined) return newsOfOthers(entry);
  if (event.moment === "decided") return { id: event.approvalId, news: "ended" };
  return event.moment === "noted" && event.type === commentedType ? commentedIn(event.data) : undefined;
}
