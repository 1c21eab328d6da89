/**
 * What is kept. `CallRecord` is the one durable life of a call, `ApprovalRecord` what a person was asked and said,
 * `Write` all that may become true in one transaction.
 *
 * Invariant: a write is conditional and all or nothing, its event included; the store owns the transaction, the
 * owners of a table (ledger, book) only compose writes. Next: stores/store.ts (the port), stores/rules.ts (the conditions).
 */
import type { Principal, Risk, ToolCall } from "./call.ts";
import type { DurableEvent, Reason } from "./event.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Preview, ToolOutcome } from "./outcome.ts";

/**
 * `held` waits for a person, `suspended` has started and waits for one, `queued` waits for a worker;
 * `attempted` without an end becomes `unknown` at start-up.
 */
export type CallState = "held" | "queued" | "attempted" | "suspended" | "ok" | "failed" | "denied" | "unknown";

export interface CallRecord {
  /** At most one execution starts for each: H(principal, tool, action, caller's key), H(parent key, position), or the first arrival's id. */
  readonly key: string;
  /** Principal, tool, action and digest of the arguments as sent: finds this call when it is sent again without a key. None: it cannot be found that way. */
  readonly match: string | undefined;
  /** The first arrival. Its `arguments` are what was sent, also after an edit. */
  readonly call: ToolCall;
  readonly state: CallState;
  readonly risk: Risk;
  /** Digest of the tool's definition when the call was weighed. */
  readonly definition: string;
  /** Whether an unknown outcome may simply be run again (D20). */
  readonly idempotent: boolean;
  /** The incarnation that attempted it: nobody else may settle. */
  readonly fence: string | undefined;
  readonly approvalId: string | undefined;
  /** Wall clock, milliseconds: until when a re-send without a key finds it. None: as long as its state lasts. */
  readonly aliveUntil: number | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly outcome: ToolOutcome | undefined;
  readonly retryable: boolean;
  /** A suspended tool's image, by reference. */
  readonly image: string | undefined;
}

/** What its end changes in a row; all else stays as it was claimed. */
export type RowEnd = Pick<CallRecord, "state" | "outcome" | "retryable" | "image"> & { readonly endedAt: number };

/** D7. `used` is the end of an approved one: single use. */
export type ApprovalState = "pending" | "approved" | "denied" | "skipped" | "expired" | "withdrawn" | "used";

export interface ApprovalRecord {
  readonly id: string;
  readonly key: string;
  readonly state: ApprovalState;
  readonly tool: string;
  readonly action: string;
  readonly principal: Principal;
  readonly runId: string;
  readonly traceId: string;
  /** What was asked for. */
  readonly asked: JsonObject;
  /** What runs if approved: other than `asked` after an edit (D19). */
  readonly arguments: JsonObject;
  /** D18: H(tenant, tool, definition, action, arguments, principal, key, expiry). */
  readonly binding: string;
  readonly definition: string;
  readonly risk: Risk;
  readonly autonomy?: string;
  readonly why: readonly Reason[];
  /** The tool's own words for what is special about this call (`classifyRisk`). */
  readonly summary?: string;
  readonly policyVersion: string;
  readonly preview?: Preview;
  /** SHA-256 over the canonical preview: what was shown. */
  readonly previewDigest?: string;
  /** Wall clock, milliseconds. */
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly decision?: {
    readonly as: "approved" | "denied" | "skipped" | "modified" | "expired" | "withdrawn";
    readonly by: string;
    readonly via: string;
    readonly at: number;
    readonly reason?: string;
  };
}

export type Write =
  | {
      readonly write: "hold";
      readonly record: CallRecord;
      readonly approval: ApprovalRecord;
      readonly event: DurableEvent;
    }
  /** `denied`: what the held call ended with, when the decision ends it. */
  | {
      readonly write: "decide";
      readonly approval: ApprovalRecord;
      readonly denied?: ToolOutcome;
      readonly event: DurableEvent;
    }
  /** `fresh`: the key is this arrival's own id, so no earlier row can exist. `use`: the approval that is spent by it. */
  | {
      readonly write: "claim";
      readonly record: CallRecord;
      readonly fresh: boolean;
      readonly use?: string;
      readonly event: DurableEvent;
    }
  /** `fence`: the incarnation that claimed it. `by`: an operator or a reconcile hook settles an `unknown` row, whose fence is dead. */
  | {
      readonly write: "settle";
      readonly key: string;
      readonly fence: string | undefined;
      readonly end: RowEnd;
      readonly by?: string;
      readonly event: DurableEvent;
    }
  | { readonly write: "note"; readonly event: DurableEvent }
  /**
   * Grants, tokens, pins, switches, checkpoints: one shelf of versioned documents. Version 0 means "not there yet".
   * Only a checkpoint of the log itself has no event: it says nothing new.
   */
  | {
      readonly write: "document";
      readonly kind: string;
      readonly id: string;
      readonly body: Json;
      readonly expectedVersion: number;
      readonly event?: DurableEvent;
    };
