/**
 * Where it is kept: calls, approvals and events as tables of their own, and one shelf of versioned documents for
 * everything off the hot path (switches, checkpoints, later grants, tokens, pins, frozen images).
 *
 * Invariant: a write is all or nothing, conditional (rules.ts says when it wins), and batched with its neighbours;
 * whoever loses learns who won, and nothing of a lost write became true, its event included. A store that could not
 * sync stops for good: every later commit rejects.
 * Next: rules.ts (the conditions, shared by all embedded stores), memory-store.ts (the reference), sqlite/ (the real one).
 */
import type { Principal, Risk } from "../core/call.ts";
import type { DurableEvent } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { ApprovalRecord, ApprovalState, CallRecord, CallState, StoreWrite } from "../core/records.ts";
import type { Audience } from "./audience.ts";

/**
 * What the answer waits for. `buffered` and `queued`: only for the condition. A `queued` write is in the transaction of this
 * turn of the event loop. A `buffered` one waits some milliseconds for others, unless one of them is needed earlier.
 * `committed`: for the transaction. `synced`: for the disk, which then has all earlier writes too.
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

/** One line of the log. `seq` counts from 0 without gaps; `body` is canonical JSON, redacted. */
export interface StoreEntry {
  readonly seq: number;
  readonly body: string;
  /** Only in the process that wrote it. */
  readonly event?: DurableEvent;
  /** Of a write that has one. Only in the process that wrote it. */
  readonly writeId?: string;
}

/** Spells an event as the body that is kept: canonical JSON, redacted. Given to the store, so that stores know no words. */
export type SerializeEvent = (event: DurableEvent) => string;

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
  /** The id of a call: only older ones. Pages go from new to old. */
  readonly before?: string;
  readonly limit?: number;
}

export interface ApprovalFilter {
  /** `decided`: all that waits no more, whatever became of it. */
  readonly state?: ApprovalState | "decided";
  readonly tenant?: string;
  readonly risk?: Risk;
  readonly tool?: string;
  readonly runId?: string;
  readonly agent?: string;
  /** Who called: the same tenant, agent and user. */
  readonly principal?: Principal;
  /** A page's `nextAfter`, or the id of an approval, whatever became of it: only those that come after it in the list. */
  readonly after?: string;
  readonly limit?: number;
}

/** A filter that names the audiences, by the keys that `Store.audiences` gave them. */
export interface AudienceFilter extends ApprovalFilter {
  readonly audiences?: readonly string[] | undefined;
}

export type WaitingFilter = Pick<ApprovalFilter, "tenant" | "tool" | "runId" | "agent" | "principal">;

/** Pending requests that the same people may decide. */
export interface WaitingAudience {
  readonly key: string;
  readonly audience: Audience;
  /** How many of them have time left. */
  readonly waiting: number;
}

export interface Store extends AsyncDisposable {
  /** This opening of the store: the fence of what is attempted through it. */
  readonly incarnation: string;

  /** Rejects only if it could not be written (full disk, stopped store). Then nothing of it is true. */
  commit(write: StoreWrite, durability: Durability): Promise<Committed>;
  /** Writes now what was answered and is not written yet. */
  flush(): Promise<void>;
  /** How many writes were answered and could not be written then. */
  readonly lost: number;

  /**
   * Sees what is queued as well as what is committed. By `key`: also by the id of its first arrival, and, while the call is
   * unknown, by the id of the arrival that left it so. By `match`: only a live row (`liveUntil` of rules.ts).
   */
  call(by: CallName): Promise<CallRecord | undefined>;
  approval(id: string): Promise<ApprovalRecord | undefined>;
  /** New to old. */
  calls(where: CallFilter): Promise<readonly CallRecord[]>;
  /**
   * Of a list of what is pending the most urgent first (urgency.ts), what is over among it; of what is
   * decided new to old; of any other old to new.
   * What is over and was never used is `expired`, and not `approved`, as it is to the claim that would use it: the rows
   * are as they were written.
   */
  approvals(where: AudienceFilter): Promise<readonly ApprovalRecord[]>;
  /** The audiences of what is pending. Who may decide depends on the configuration, so the caller judges each audience. */
  audiences(where: WaitingFilter): Promise<readonly WaitingAudience[]>;
  /** Attempted rows of other incarnations: what recovery settles as `unknown` before any door opens. */
  stranded(): Promise<readonly CallRecord[]>;
  /** Artifacts, these among them, that a call or an approval still needs (references.ts); of others nothing is said. */
  needed(digests: readonly string[]): Promise<ReadonlySet<string>>;

  /** Committed entries with `after < seq`, in order, `limit` at most. The body only. */
  events(where: EntryFilter): AsyncIterable<StoreEntry>;
  /**
   * Each batch in order, once it is true: on a disk after it was committed, in memory when it was taken (docs/decisions/0002).
   * The audit tree, waiters, watchers and live pages follow it. A throw is logged, never felt.
   */
  follow(listener: (entries: readonly StoreEntry[]) => void): Disposable;
  readonly documents: Documents;
  /** Undefined while it works; the reason why nothing can be written any more. */
  readonly broken: Error | undefined;
}

export interface Documents {
  get(kind: string, id: string): Promise<{ readonly version: number; readonly body: Json } | undefined>;
  /** Ids that begin with `prefix`, in order of their characters; none of those whose body is null, which is how one is taken away. */
  list(kind: string, prefix: string): Promise<readonly string[]>;
}
