/**
 * What is kept. `CallRecord` is the one durable life of a call, `ApprovalRecord` what a person was asked and said,
 * `Write` all that may become true in one transaction.
 *
 * Invariant: a write is conditional and all or nothing, its event included; the store owns the transaction, the
 * owners of a table (ledger, approval repository) only compose writes. Next: store/store.ts (the port), store/rules.ts (the conditions).
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
  /** Whether a second run does no harm, so that an unknown outcome may simply be run again (D20). */
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
export type RowEnd = Pick<CallRecord, "state" | "outcome" | "retryable" | "image"> & {
  readonly endedAt: number;
  /** Of a call that suspended: as long as the approval it waits for. */
  readonly aliveUntil?: number;
};

/** D7. `used` is the end of an approved one: single use. */
export type ApprovalState = "pending" | "approved" | "denied" | "skipped" | "expired" | "withdrawn" | "used";

/** Who is asked: any of them. Empty: whoever may decide at all. */
export interface Addressees {
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
}

/** What was demanded of a request when it was made; what is demanded now may only be more (approvals/routes.ts). */
export interface Routed {
  /** The route's name, or `default`. */
  readonly rule: string;
  readonly to: Addressees;
  /** So many different persons must say yes. */
  readonly quorum: number;
  /** The decider types the tool's name. */
  readonly typedConfirmation: boolean;
  /** The asking user decides nothing, whatever the credential. */
  readonly separateUser: boolean;
  /** A person signed in; without accounts, the operator's own token. */
  readonly signedIn: boolean;
  /** Whether a yes may be remembered. */
  readonly remembers: boolean;
  /** Wall clock, milliseconds. */
  readonly remindAt?: number;
  readonly escalateAt?: number;
  /** Who is asked as well from `escalateAt` on. */
  readonly escalateTo?: Addressees;
}

/** Who gives a vote or a grant. */
export interface DecisionAuthor {
  readonly by: string;
  readonly via: string;
  /** The person who delegated the decision to `by`. */
  readonly onBehalfOf?: string;
  /** By which delegation. */
  readonly delegation?: string;
}

/** What a decider was and did when they decided. A grant is checked against it each time it answers. */
export interface DeciderState {
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  /** As a person, not by a token. */
  readonly signedIn: boolean;
  /** The tool's name. */
  readonly typed: boolean;
}

/** One person's decision on a request. It counts as it was cast, whatever becomes of the person's account. */
export interface Vote extends Omit<DecisionAuthor, "delegation"> {
  readonly as: "approved" | "denied" | "skipped";
  readonly at: number;
  readonly reason?: string;
}

/** An artifact that the arguments of a call name, as it was read when the call was judged. */
export interface ReferencedArtifact {
  /** Where the arguments name it: `$.to`, `$.files[0]`. */
  readonly path: string;
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** Its content, redacted; bytes that are no UTF-8 as Latin-1. Undefined when it is too large to look at. */
  readonly text?: string;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly key: string;
  readonly state: ApprovalState;
  readonly tool: string;
  readonly action: string;
  /** The server the tool comes from; none: this process. */
  readonly server?: string;
  readonly principal: Principal;
  readonly runId: string;
  readonly traceId: string;
  /** What was asked for. */
  readonly asked: JsonObject;
  /** What runs if approved: other than `asked` after an edit (D19). */
  readonly arguments: JsonObject;
  /** What the references in `arguments` stand for. None: they name no artifact. */
  readonly artifacts?: readonly ReferencedArtifact[];
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
  /** With a preview: whether it must be shown again at use. None: nobody said. */
  readonly previewBinds?: boolean;
  /** After an edit: what was shown of `asked`. */
  readonly askedPreview?: Preview;
  /** Wall clock, milliseconds. */
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly routed?: Routed;
  /** Of the arguments as they stand: an edit begins anew. */
  readonly votes?: readonly Vote[];
  /** The last edit of a request that other persons must still agree to. */
  readonly edited?: { readonly by: string; readonly via: string; readonly at: number };
  /** The agent's own word on why it calls. Nobody has checked it. */
  readonly reason?: string;
  /** Calls its session had made when it asked, itself included. */
  readonly runCalls?: number;
  /** Of the session that asked, while its process lives. */
  readonly sessionId?: string;
  readonly remindedAt?: number;
  readonly escalatedAt?: number;
  /** How often it was written since it was asked; none: never. A write names the one it has seen. */
  readonly revision?: number;
  readonly decision?: {
    readonly as: "approved" | "denied" | "skipped" | "modified" | "expired" | "withdrawn" | "revoked";
    readonly by: string;
    readonly via: string;
    readonly at: number;
    readonly reason?: string;
    /** The person who delegated the decision to `by`. */
    readonly onBehalfOf?: string;
  };
}

/** A document that was not there before, with its event. */
export interface Along {
  readonly kind: string;
  readonly id: string;
  readonly body: Json;
  readonly event: DurableEvent;
}

/** `writeId` comes back with the entry of the event in the change feed. */
export type StoreWrite = OneWrite & { readonly writeId?: string };

type OneWrite =
  | {
      readonly write: "hold";
      readonly record: CallRecord;
      readonly approval: ApprovalRecord;
      readonly event: DurableEvent;
    }
  /**
   * A request ends, or stays pending with what was said so far. `denied`: what the held call ended with, when the
   * decision ends it. `expectedRevision`: it loses when the record was written since. `along`: what becomes true with it,
   * or neither does; what is remembered of a yes.
   */
  | {
      readonly write: "decide";
      readonly approval: ApprovalRecord;
      readonly expectedRevision?: number;
      readonly denied?: ToolOutcome;
      readonly along?: Along;
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
  /**
   * `fence`: the incarnation that claimed it. `by`: an operator or a reconcile hook settles an `unknown` row, whose fence is
   * dead. `unspend`: the approval that the claim used is approved again, because the tool did not run.
   */
  | {
      readonly write: "settle";
      readonly key: string;
      readonly fence: string | undefined;
      readonly end: RowEnd;
      readonly by?: string;
      readonly unspend?: string;
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
