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
  Clock,
  DurableEvent,
  Json,
  Principal,
  Risk,
  StoreWrite,
} from "@postern/core";
import type { Timings } from "../system/timings.ts";
import type { Audience } from "./audience.ts";
import type { EqualCall } from "./equal-calls.ts";
import type { ErasingBefore } from "./erasing.ts";
import type { CountedCalls, StatisticsFilter } from "./statistics.ts";

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
      /**
       * The claim was judged by past calls, and another process added to them with this entry. All entries up to it were
       * given to the followers.
       */
      readonly pastChanged?: number;
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
  /** Only the calls with these keys. */
  readonly keys?: readonly string[];
  readonly state?: CallState;
  readonly tool?: string;
  readonly tenant?: string;
  readonly runId?: string;
  /** The id of the call that made them. */
  readonly parentId?: string;
  /** Only calls in whose text each of these words occurs (search-text.ts). */
  readonly search?: string;
  /** Only calls that arrived then or later: wall clock, milliseconds. */
  readonly since?: number;
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
  /** Only requests in whose text each of these words occurs (search-text.ts). */
  readonly search?: string;
  /** A page's `nextAfter`, or an approval id: only requests after it in the list. */
  readonly after?: string;
  readonly limit?: number;
}

/** A filter by audience, with keys from `Store.audiences`. */
export interface AudienceFilter extends ApprovalFilter {
  readonly audiences?: readonly string[] | undefined;
  /** Wall clock, milliseconds: pending requests that end until then come first. Default: that of the cursor, else five minutes from now. */
  readonly soonUntil?: number;
}

export type WaitingFilter = Pick<ApprovalFilter, "tenant" | "risk" | "tool" | "runId" | "agent" | "principal">;

/** What similar requests have in common. */
export type SharedMember = "risk" | "tool" | "runId" | "agent";

export interface GroupFilter extends WaitingFilter {
  /** Requests that are equal in these members are one group. None: all are one group. */
  readonly by: readonly SharedMember[];
  readonly audiences?: readonly string[] | undefined;
  /** The largest groups, so many of them. Default: all. */
  readonly limit?: number;
}

/** Pending requests that are equal in the members that were asked for. `Store.approvals` with these members lists them. */
export interface WaitingGroup extends Pick<ApprovalFilter, SharedMember> {
  /** How many of them have not expired: at least one. */
  readonly waiting: number;
  /** When the first and the last of them were made: wall clock, milliseconds. */
  readonly oldestAt: number;
  readonly newestAt: number;
}

export interface RequestCounts {
  /** By state, by the clock: an unused request past its time is `expired`. */
  readonly requests: Readonly<Record<ApprovalState, number>>;
  readonly unknownCalls: number;
}

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
   * Pending requests come in the order of urgency.ts, expired ones included; decided ones newest first; others oldest first.
   * The filter counts an unused request past its time as `expired`; the rows are as they were written.
   */
  approvals(where: AudienceFilter): Promise<readonly ApprovalRecord[]>;
  /** The audiences of pending requests. The caller judges who of them may decide. */
  audiences(where: WaitingFilter): Promise<readonly WaitingAudience[]>;
  /** Groups of pending requests, the largest first, then by their members. */
  groups(where: GroupFilter): Promise<readonly WaitingGroup[]>;
  /** All requests and unknown calls, of one tenant or of all. */
  counts(where: Pick<ApprovalFilter, "tenant">): Promise<RequestCounts>;
  /** What was counted of calls and decisions (statistics.ts), in no order. */
  statistics(where: StatisticsFilter): Promise<readonly CountedCalls[]>;
  /** Rows attempted by processes that are no longer there, which recovery settles as `unknown`. */
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
  /** The time that decides what has expired, if it is not that of the clock which the store was opened with. */
  readonly clock?: Clock;
  /** How often calls of processes that ended are to be looked for. Present in a store that several processes share. */
  readonly strandedEveryMs?: number;
  /** Present in a store that several processes share (lease.ts). */
  readonly leases?: Leases;
  /** Its size, what is erased of it, and its copies. Present in a store that lasts. */
  readonly upkeep?: StoreUpkeep;
  /** The reason why the store has stopped; undefined while it works. */
  readonly broken: Error | undefined;
  /** For metrics. A store without it has no such metrics. */
  readonly measures?: StoreMeasures;
}

/** What metrics read of a store. No member reads more than an index of what is open. */
export interface StoreMeasures {
  /** How many writes lost against another write since the store was opened. */
  readonly conflicts: number;
  /** How long transactions took since the store was opened, with their sync if a caller waited for it. */
  readonly commits?: Timings;
  /** Bytes on disk, by a name of what they hold. */
  bytes(): Promise<Readonly<Record<string, number>>>;
}

/** Who of several processes does something that one must do: by compare-and-swap, with the time of the store. */
export interface Leases {
  /** Takes the lease or renews it for this opening. Returns false while another one holds it. */
  take(name: string, forMs: number): Promise<boolean>;
  /** Gives it up before its time. */
  release(name: string): Promise<void>;
}

export interface Documents {
  /**
   * Calls the listener with each document of the kind that another process changed. Present in a store that several
   * processes share; the others have one process.
   */
  follow?(
    kind: string,
    listener: (id: string, document: { readonly version: number; readonly body: Json }) => void,
  ): Disposable;
  get(kind: string, id: string): Promise<{ readonly version: number; readonly body: Json } | undefined>;
  /** Ids that begin with `prefix`, sorted. A document with the body null is removed and not listed. */
  list(kind: string, prefix: string): Promise<readonly string[]>;
}

export type StoredKind = "calls" | "approvals" | "events" | "documents";

/**
 * What one kind takes: its rows, and the bytes of the texts in them. PostgreSQL does not count: rows as its statistics
 * have them, and bytes on disk with the indexes.
 */
export interface StoredSize {
  readonly kind: StoredKind;
  readonly rows: number;
  readonly bytes: number;
}

export interface StoreUpkeep {
  /** Counted in turns, at most every five minutes: between two counts it answers at once. */
  sizes(): Promise<readonly StoredSize[]>;
  /** Erases what erasing.ts allows, oldest first, and gives how many rows each turn changed. */
  erase(kind: "calls" | "approvals", where: ErasingBefore): AsyncIterable<number>;
  /** The places of entries about calls which were written before that time and may be erased, in order: those of each turn. */
  erasable(before: number): AsyncIterable<readonly number[]>;
  /** Keeps only the digest of these entries (`erasedEntry`). The log must say so first: the verifier compares. */
  eraseEntries(places: readonly number[]): Promise<void>;
  /**
   * Writes what is committed into a new file, while writes go on. Present in a store in a file.
   *
   * @throws RuntimeFault `disk_full`; then there is no file
   */
  copyTo?(file: string): Promise<void>;
}
