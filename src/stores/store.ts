/**
 * Where it is kept: calls, approvals and events as tables of their own, and one shelf of versioned documents for
 * everything off the hot path (switches, checkpoints, later grants, tokens, pins, frozen images).
 *
 * Invariant: a write is all or nothing, conditional (rules.ts says when it wins), and batched with its neighbours;
 * whoever loses learns who won, and nothing of a lost write became true, its event included. A store that could not
 * sync stops for good: every later commit rejects.
 * Next: rules.ts (the conditions, shared by all embedded stores), map-store.ts (the reference), sqlite/ (the real one).
 */
import type { Risk } from "../calls/call.ts";
import type { DurableEvent } from "../calls/event.ts";
import type { Json } from "../calls/json.ts";
import type { ApprovalRecord, ApprovalState, CallRecord, CallState, Write } from "../calls/records.ts";
import type { Audience } from "./audience.ts";
import type { Waiting } from "./urgency.ts";

/**
 * What the returned promise waits for. `buffered` and `queued`: nothing; the condition was decided now. A `queued` write is in
 * the transaction of this turn of the event loop, a `buffered` one in the next that somebody needs, or in one some
 * milliseconds later. `committed`: the transaction. `synced`: until it is on the disk, and with it all that was taken before.
 */
export type Durability = "buffered" | "queued" | "committed" | "synced";

export type Committed =
  | { readonly won: true }
  | {
      readonly won: false;
      readonly call?: CallRecord;
      readonly approval?: ApprovalRecord;
      readonly version?: number;
    };

/**
 * One line of the log. `seq` counts from 0 without gaps; `body` is canonical JSON, redacted; `event` only in the process that
 * wrote it: the object that was committed.
 */
export interface Entry {
  readonly seq: number;
  readonly body: string;
  readonly event?: DurableEvent;
}

/** Spells an event as the body that is kept: canonical JSON, redacted. Given to the store, so that stores know no words. */
export type Spell = (event: DurableEvent) => string;

export interface EntryFilter {
  readonly after: number;
  readonly limit?: number;
  /** As they lie on the disk, whatever of them is in memory: somebody may have changed them there. */
  readonly fresh?: boolean;
}

/** By its key; or, of a caller without a key, by its arguments, `except` for calls of the same batch. */
export type CallName =
  | { readonly key: string }
  | { readonly match: string; readonly except?: ReadonlySet<string> | undefined };

export interface CallFilter {
  readonly state?: CallState;
  readonly tool?: string;
  readonly tenant?: string;
  readonly runId?: string;
  /** The id of the call that made them. */
  readonly parentId?: string;
  /** Row numbers below this: pages go from new to old. */
  readonly before?: number;
  readonly limit?: number;
}

export interface ApprovalFilter {
  /** `decided`: all that waits no more, whatever became of it. */
  readonly state?: ApprovalState | "decided";
  readonly tenant?: string;
  readonly risk?: Risk;
  readonly tool?: string;
  readonly runId?: string;
  /** Whose call it is. */
  readonly agent?: string;
  /** Whether it is for whoever looks: asked once for each audience, not of each request. */
  readonly isFor?: (audience: Audience) => boolean;
  /** A page's `nextAfter`, or the id of an approval, whatever became of it: only those that come after it in the list. */
  readonly after?: string;
  readonly limit?: number;
}

export type WaitingFilter = Pick<ApprovalFilter, "tenant" | "tool" | "runId" | "agent" | "isFor">;

export interface Store extends AsyncDisposable {
  /** This opening of the store: the fence of what is attempted through it. */
  readonly incarnation: string;
  /** The next call's row number: grows over restarts, gaps are fine. */
  nextNumber(): number;

  /**
   * Rejects only when it could not be written (full disk, stopped store): then nothing of it is true. `buffered` and
   * `queued` answer at once.
   */
  commit(write: Write, durability: Durability): Committed | Promise<Committed>;
  /** Writes now what is taken, and would be lost with the process. */
  flush(): void;
  /** How many writes were answered and could not be written then. */
  readonly lost: number;

  /**
   * Sees what is queued as well as what is committed. By `key`: also by the id of its first arrival, and while it is
   * unknown of the one that left it so. By `match`: only a live row (live-matches.ts `liveUntil`).
   */
  call(by: CallName): CallRecord | undefined | Promise<CallRecord | undefined>;
  approval(id: string): ApprovalRecord | undefined | Promise<ApprovalRecord | undefined>;
  /** New to old. */
  calls(where: CallFilter): Promise<readonly CallRecord[]>;
  /**
   * Of a list of what is pending the most urgent first (urgency.ts), what is over among it; of what is
   * decided new to old; of any other old to new.
   * What is over and was never used is `expired`, and not `approved`, as it is to the claim that would use it: the rows
   * are as they were written.
   */
  approvals(where: ApprovalFilter): Promise<readonly ApprovalRecord[]>;
  /** How many are pending and not over yet. */
  waiting(where: WaitingFilter): Promise<Waiting>;
  /** Attempted rows of other incarnations: what recovery settles as `unknown` before any door opens. */
  stranded(): Promise<readonly CallRecord[]>;
  /** Artifacts, these among them, that a call or an approval still needs (references.ts); of others nothing is said. */
  needed(digests: readonly string[]): Promise<ReadonlySet<string>>;

  /** Committed entries with `after < seq`, in order, `limit` at most. The body only. */
  events(where: EntryFilter): AsyncIterable<Entry>;
  /**
   * Each batch in order, once it is true: on a disk after it was committed, in memory when it was taken (docs/decisions/0002).
   * The audit tree, waiters, watchers and live pages follow it. A throw is logged, never felt.
   */
  follow(listener: (entries: readonly Entry[]) => void): Disposable;
  readonly documents: Documents;
  /** Undefined while it works; the reason why nothing can be written any more. */
  readonly broken: Error | undefined;
}

export interface Documents {
  get(kind: string, id: string): Promise<{ readonly version: number; readonly body: Json } | undefined>;
  /** Ids that begin with `prefix`, in order of their characters; none of those whose body is null, which is how one is taken away. */
  list(kind: string, prefix: string): Promise<readonly string[]>;
}

/**
 * For who keeps a copy of what it writes: `take` runs when the followers are told that it is true, which may be long
 * before a slow disk has it. Whoever is told asks at once, and is not to find what was before. Not taken when it is lost.
 */
export async function commitAndTake(
  store: Pick<Store, "commit" | "follow">,
  write: Write,
  durability: Durability,
  take: () => void,
): Promise<Committed> {
  const { event } = write;
  let isTaken = false;
  const taken = (): void => {
    if (isTaken) return;
    take();
    isTaken = true;
  };
  using _ = store.follow((entries) => {
    if (event !== undefined && entries.some((entry) => entry.event === event)) taken();
  });
  const committed = await store.commit(write, durability);
  if (committed.won) taken();
  return committed;
}
