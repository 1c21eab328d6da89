/**
 * What is stored: `CallRecord` for a call, `ApprovalRecord` for a request and its decision, `StoreWrite` for one
 * transaction.
 *
 * Invariant: a write is conditional and all or nothing, its event included. The store owns the transaction; ledger and
 * approval repository only compose writes. Next: store/store.ts (the port), store/rules.ts (the conditions).
 */
import type { Principal, Risk, ToolCall } from "./call.ts";
import type { DurableEvent, Reason } from "./event.ts";
import type { Json, JsonObject } from "./json.ts";
import type { ModelCall } from "./model-call.ts";
import type { Preview, ToolOutcome } from "./outcome.ts";

export interface CallRecord {
  /** At most one execution starts for each: H(principal, tool, action, caller's key), H(parent key, position), or the first arrival's id. */
  readonly key: string;
  /** Principal, tool, action and digest of the arguments as sent: finds this call if it is sent again without a key (store/equal-calls.ts). Undefined: it cannot be found that way. */
  readonly match: string | undefined;
  /** The first arrival. Its `arguments` are what was sent, also after an edit. */
  readonly call: ToolCall;
  readonly state: CallState;
  readonly risk: Risk;
  /** Digest of the tool's definition when the call was judged. */
  readonly definition: string;
  /** Whether a second run does no harm: an unknown call may then simply run again. */
  readonly idempotent: boolean;
  /** The process that attempted it; only this process may settle it. */
  readonly fence: string | undefined;
  readonly approvalId: string | undefined;
  /** Wall clock, milliseconds: until when a re-send without a key finds it. Undefined: as long as its state lasts. */
  readonly aliveUntil: number | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly outcome: ToolOutcome | undefined;
  readonly retryable: boolean;
  /** A suspended tool's image, by reference. */
  readonly image: string | undefined;
  /** Calls of later turns that this row answers too, the latest ones. Undefined: none. */
  readonly joined?: readonly ModelCall[];
  /** The arrival that attempted it last. Undefined: the first one. */
  readonly attemptedBy?: string;
  /** It was run by `resume`, so the model that asked has not read the outcome. */
  readonly unread?: true;
  /** It was suspended: milliseconds that it had run before it went on last, and that it had waited since it was suspended first. */
  readonly paused?: { readonly ranMs: number; readonly waitedMs: number };
  /** `endedAt` is when its end was found or settled. When the tool ended is not known. */
  readonly endUnseen?: true;
  /** Wall clock, milliseconds: its arguments and its outcome were erased then. It still says that the call is not to run again. */
  readonly erasedAt?: number;
}

/** What the end of a call changes in its row. */
export type RowEnd = Pick<CallRecord, "state" | "outcome" | "retryable" | "image" | "endUnseen"> & {
  readonly endedAt: number;
  /** For a suspended call: the end of the approval that it waits for. */
  readonly aliveUntil?: number;
};

/** Who may decide: any of these. Empty: every person with the right to decide. */
export interface Addressees {
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
}

/** What the request requires of a decision. Later requirements can only be stricter (approvals/routes.ts). */
export interface Routed {
  /** The route's name, or `default`. */
  readonly rule: string;
  readonly to: Addressees;
  /** How many different persons must approve. */
  readonly quorum: number;
  /** The decider must type the tool's name. */
  readonly typedConfirmation: boolean;
  /** The user who asks may not decide, with any credential. */
  readonly separateUser: boolean;
  /** A signed-in person must decide; without accounts, the operator's token. */
  readonly signedIn: boolean;
  /** Whether an approval may become a grant. */
  readonly remembers: boolean;
  /** Wall clock, milliseconds. */
  readonly remindAt?: number;
  readonly escalateAt?: number;
  /** Who may decide too, from `escalateAt` on. */
  readonly escalateTo?: Addressees;
}

/** Who gives a vote or a grant. */
export interface DecisionAuthor {
  readonly by: string;
  readonly via: string;
}

/** The state of a decider at the decision. A grant is checked against it each time it answers. */
export interface DeciderState {
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  /** Signed in as a person, not with a token. */
  readonly signedIn: boolean;
  /** Whether the tool's name was typed. */
  readonly typed: boolean;
}

/** One person's decision on a request. It keeps counting if the account changes later. */
export interface Vote extends DecisionAuthor {
  readonly as: "approved" | "denied" | "skipped";
  readonly at: number;
  readonly reason?: string;
}

/** What a person wrote to the agent about its request, without deciding it. Secrets are masked. */
export interface ApprovalComment extends DecisionAuthor {
  readonly at: number;
  readonly text: string;
}

/** An artifact that the arguments of a call name, as it was read when the call was judged. */
export interface ReferencedArtifact {
  /** Where the arguments name it: `$.to`, `$.files[0]`. */
  readonly path: string;
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** Its content, redacted; bytes that are not UTF-8 as Latin-1. Undefined if it is too large to read. */
  readonly text?: string;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly key: string;
  readonly state: ApprovalState;
  readonly tool: string;
  readonly action: string;
  /** The server of the tool; undefined for a tool of this process. */
  readonly server?: string;
  readonly principal: Principal;
  readonly runId: string;
  readonly traceId: string;
  /** The arguments as the agent sent them. */
  readonly asked: JsonObject;
  /** The arguments that run if approved; they differ from `asked` after an edit. */
  readonly arguments: JsonObject;
  /** The artifacts that `arguments` name. */
  readonly artifacts?: readonly ReferencedArtifact[];
  /** H(tenant, tool, definition, action, arguments, principal, key, expiry). */
  readonly binding: string;
  readonly definition: string;
  readonly risk: Risk;
  readonly autonomy?: string;
  readonly why: readonly Reason[];
  /** The tool's own description of what is special about this call (`classifyRisk`). */
  readonly summary?: string;
  readonly policyVersion: string;
  readonly preview?: Preview;
  /** SHA-256 of the canonical preview that was shown. */
  readonly previewDigest?: string;
  /** With a preview: whether it must be shown again when the approval is used. Undefined when the tool did not say. */
  readonly previewBinds?: boolean;
  /** After an edit: the preview of `asked`. */
  readonly askedPreview?: Preview;
  /** Wall clock, milliseconds: when the arrival that asked came. Undefined in older records. */
  readonly arrivedAt?: number;
  /** Wall clock, milliseconds. */
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly routed?: Routed;
  /** Votes on `arguments`. An edit removes them. */
  readonly votes?: readonly Vote[];
  /** The last edit of a request that other persons must still agree to. */
  readonly edited?: { readonly by: string; readonly via: string; readonly at: number };
  /** Oldest first. */
  readonly comments?: readonly ApprovalComment[];
  /** The agent's own reason for the call. It is not checked. */
  readonly reason?: string;
  /** Calls its session had made when it asked, itself included. */
  readonly runCalls?: number;
  /** The session that asked, while its process lives. */
  readonly sessionId?: string;
  readonly remindedAt?: number;
  readonly escalatedAt?: number;
  /** How often the record was written after the request; undefined means never. A write names the revision it has read. */
  readonly revision?: number;
  readonly decision?: {
    readonly as: "approved" | "denied" | "skipped" | "modified" | "expired" | "withdrawn" | "revoked";
    readonly by: string;
    readonly via: string;
    readonly at: number;
    readonly reason?: string;
  };
}

/** A new document, with its event. */
export interface AddedDocument {
  readonly kind: string;
  readonly id: string;
  readonly body: Json;
  readonly event: DurableEvent;
}

/** `writeId` comes back with the entry of the event in the change feed. */
/**
 * Past calls by their scopes: runs, principals, tenants. A store that several processes share has the last change of each
 * scope. A claim loses if another process changed a scope that the claim was judged by, after the entry up to which this
 * process knew it.
 */
export interface ClaimedPast {
  /** The call belongs to these. */
  readonly scopes: readonly string[];
  readonly judgedBy: readonly string[];
  /** `seq` of an entry of the log. */
  readonly upTo: number;
}

export type StoreWrite = OneWrite & { readonly writeId?: string };

type OneWrite =
  | {
      readonly write: "hold";
      readonly record: CallRecord;
      readonly approval: ApprovalRecord;
      readonly event: DurableEvent;
    }
  /**
   * A request ends, or stays pending with the votes so far. `denied`: the outcome of the held call, when the decision
   * ends it. `expectedRevision`: the write loses when the record changed since. `addedDocument`: one that is written in
   * the same transaction, such as a grant.
   */
  | {
      readonly write: "decide";
      readonly approval: ApprovalRecord;
      readonly expectedRevision?: number;
      readonly denied?: ToolOutcome;
      readonly addedDocument?: AddedDocument;
      readonly event: DurableEvent;
    }
  /**
   * `fresh`: the key is this arrival's own id, so no earlier row can exist. `use`: the approval that is spent by it.
   * `past`: the past calls that it is judged by and belongs to.
   */
  | {
      readonly write: "claim";
      readonly record: CallRecord;
      readonly fresh: boolean;
      readonly use?: string;
      readonly past?: ClaimedPast;
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
      /** The scopes in which stricter rules hold from now on (`ClaimedPast`). */
      readonly taints?: readonly string[];
      readonly event: DurableEvent;
    }
  | { readonly write: "note"; readonly event: DurableEvent }
  /** An equal call of a later turn joins the row. It loses if the row has another call of that turn. The arrival's own event follows. */
  | { readonly write: "join"; readonly key: string; readonly modelCall: ModelCall; readonly event?: undefined }
  /**
   * One collection of versioned documents: grants, tokens, pins, switches, checkpoints. Version 0 means "does not exist
   * yet". Only a checkpoint of the log has no event, because it adds nothing new.
   */
  | {
      readonly write: "document";
      readonly kind: string;
      readonly id: string;
      readonly body: Json;
      readonly expectedVersion: number;
      readonly event?: DurableEvent;
    };

/**
 * `held` waits for a person, `suspended` has started and waits for one, `queued` waits for a worker; `attempted` without an
 * end becomes `unknown` at start-up. The store keeps a state by its position here, so a new state goes to the end.
 */
export const callStates = ["held", "queued", "attempted", "suspended", "ok", "failed", "denied", "unknown"] as const;
export type CallState = (typeof callStates)[number];

/** An approved request becomes `used` with its one call. */
export const approvalStates = ["pending", "approved", "denied", "skipped", "expired", "withdrawn", "used"] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** Which agent run: an id is unique among the runs of one agent (and user) of a tenant. */
export interface AgentRunId {
  readonly principal: Pick<Principal, "tenant" | "agent" | "user">;
  readonly runId: string;
}

/**
 * Where an agent's conversation is kept, so that a run that waits for a person goes on after a restart.
 *
 * @public
 */
export interface AgentRuns {
  /** The newest state and its version, or undefined when the run has none. */
  load(run: AgentRunId): Promise<{ readonly version: number; readonly state: Json } | undefined>;
  /**
   * Replaces the state of version `expected` (0: there is none yet). Secrets that Postern knows are masked before it is
   * written. False when another process has written since.
   */
  save(run: AgentRunId, state: Json, expected: number): Promise<boolean>;
  /** Deletes the state. False when there is none. A deleted run begins again at version 0. */
  remove(run: AgentRunId): Promise<boolean>;
  /** Ids of the principal's runs, in the order of their characters. */
  list(principal: AgentRunId["principal"]): Promise<readonly string[]>;
}
