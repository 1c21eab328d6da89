/**
 * The port of a store: tables for calls, approvals and events, and versioned documents for everything else (switches,
 * checkpoints, grants, tokens, pins, frozen images).
 *
 * Invariant: a write is conditional (rules.ts) and all or nothing, its event included. The loser of a write gets the row
 * that won. A store that could not sync stops for good: each later commit rejects.
 * Next: rules.ts (the conditions), memory-store.ts (the default), sqlite/ (in a file).
 */
import type {
  ApprovalRecord,
  ApprovalState,
  CallRecord,
  CallState,
  DurableEvent,
  Json,
  Principal,
  Risk,
  StoreWrite,
} from "@postern/core";
import type { Audience } from "./audience.ts";
import type { EqualCall } from "./equal-calls.ts";

/**
 * What the answer of a write waits for. `buffered` and `queued` wait for the condition only: a `queued` write is in the
 * transaction of this turn of the event loop, a `buffered` one may wait some milliseconds for others. `committed` waits
 * for the transaction, `synced` for the disk, which then has all earlier writes too.
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

/** One entry of the log. `seq` counts from 0 without gaps; `body` is canonical JSON, redacted. */
export interface StoreEntry {
  readonly seq: number;
  readonly body: string;
  /** Present only in the process that wrote it. */
  readonly event?: DurableEvent;
  /** Present only in the process that wrote it, if the write has one. */
  readonly writeId?: string;
}

/** Gets each committed batch of entries, in order. */
export type StoreListener = (entries: readonly StoreEntry[]) => void;

/** Makes the stored body of an event: canonical JSON, redacted. */
export type SerializeEvent = (event: DurableEvent) => string;

export interface EntryFilter {
  readonly after: number;
  readonly limit?: number;
  /** Reads from disk, not from a cache: the file may have been changed. */
  readonly fresh?: boolean;
}

/** Names a call by its key, or as the row that answers an equal call. */
export type CallName = { readonly key: string } | EqualCall;

export interface CallFilter {
  readonly state?: CallState;
  readonly tool?: string;
  readonly tenant?: string;
  readonly runId?: string;
  /** The id of the call that made them. */
  readonly parentId?: string;
  /** Only calls older than this id. Pages go from new to old. */
  readonly before?: string;
  readonly limit?: number;
}

export interface ApprovalFilter {
  /** `decided`: all requests that no longer wait. */
  readonly state?: ApprovalState | "decided";
  readonly tenant?: string;
  readonly risk?: Risk;
  readonly tool?: string;
  readonly runId?: string;
  readonly agent?: string;
  /** The caller: the same tenant, agent and user. */
  readonly principal?: Principal;
  /** A page's `nextAfter`, or an approval id: only requests after it in the list. */
  readonly after?: string;
  readonly limit?: number;
}

/** A filter by audience, with keys from `Store.audiences`. */
export interface AudienceFilter extends ApprovalFilter {
  readonly audiences?: readonly string[] | undefined;
}

export type WaitingFilter = Pick<ApprovalFilter, "tenant" | "tool" | "runId" | "agent" | "principal">;

/** Pending requests that the same people may decide. */
export interface WaitingAudience {
  readonly key: string;
  readonly audience: Audience;
  /** How many of them have not expired. */
  readonly waiting: number;
}

export interface Store extends AsyncDisposable {
  /** Names this opening of the store: the fence of calls attempted through it. */
  readonly incarnation: string;

  /** Rejects if it could not be written (full disk, stopped store); then nothing of it is true. */
  commit(write: StoreWrite, durability: Durability): Promise<Committed>;
  /** Writes what was answered and is not yet written. */
  flush(): Promise<void>;
  /** Why writes of an earlier process are missing, found when the store was opened; undefined if they are all there. */
  readonly lostBefore?: string | undefined;
  /** How many writes were answered and then could not be written. */
  readonly lost: number;

  /**
   * Sees queued and committed rows. `key` may also be the id of the first arrival, or of the arrival that left the call
   * unknown. An equal call finds the row that answers it (equal-calls.ts).
   */
  call(by: CallName): Promise<CallRecord | undefined>;
  approval(id: string): Promise<ApprovalRecord | undefined>;
  /** Newest first. */
  calls(where: CallFilter): Promise<readonly CallRecord[]>;
  /**
   * Pending requests come by urgency (urgency.ts), expired ones included; decided ones newest first; others oldest first.
   * The filter counts an unused request past its time as `expired`; the rows are as they were written.
   */
  approvals(where: AudienceFilter): Promise<readonly ApprovalRecord[]>;
  /** The audiences of pending requests. The caller judges who of them may decide. */
  audiences(where: WaitingFilter): Promise<readonly WaitingAudience[]>;
  /** Rows attempted by other processes, which recovery settles as `unknown`. */
  stranded(): Promise<readonly CallRecord[]>;
  /** Those of the artifacts that a call or an approval still needs (references.ts). */
  needed(digests: readonly string[]): Promise<ReadonlySet<string>>;

  /** Committed entries with `after < seq`, in order, at most `limit`. */
  events(where: EntryFilter): AsyncIterable<StoreEntry>;
  /**
   * Calls the listener with each committed batch, in order. The audit tree, waiting callers and live pages follow it. A
   * listener that throws is logged.
   */
  follow(listener: StoreListener): Disposable;
  readonly documents: Documents;
  /** The reason why the store has stopped; undefined while it works. */
  readonly broken: Error | undefined;
}

export interface Documents {
  get(kind: string, id: string): Promise<{ readonly version: number; readonly body: Json } | undefined>;
  /** Ids that begin with `prefix`, sorted. A document with the body null is removed and not listed. */
  list(kind: string, prefix: string): Promise<readonly string[]>;
}
