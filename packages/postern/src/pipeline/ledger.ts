/**
 * Which calls have started, and how they ended.
 *
 * Invariant: for one key at most one execution starts, and every arrival has exactly one terminal event. The ledger
 * composes writes; the store decides and commits them.
 * Next: recovery.ts (at start), settlement.ts (an operator, or a tool's reconcile hook).
 */

import {
  type ApprovalRecord,
  type CallRecord,
  type CallState,
  type ClaimedPast,
  type Clock,
  type DurableEvent,
  deepFrozen,
  type EndName,
  isOnRecord,
  isRepeatable,
  type JsonObject,
  type ModelCall,
  type RefusalCode,
  type Risk,
  type StoreWrite,
  type ToolCall,
  type ToolOutcome,
  type Weighing,
} from "@postern/core";
import type { Ending } from "../call/ending.ts";
import type { Suggestion, ToolFacts } from "../policy/policy.ts";
import type { CallName, Committed, Durability, Store } from "../store/store.ts";
import type { CallBeginning, CallHistory, Past } from "./history.ts";
import { isFromOutside } from "./scoped-history.ts";

/** What the ledger needs of a call to claim it. Every ApprovedCall is one; this type avoids an import of the gates. */
export interface Claimable extends ToolCall {
  readonly key: string;
  readonly match: string | undefined;
  readonly risk: Risk;
  readonly weighing: Weighing;
  readonly found: { readonly definition: string; readonly idempotent: boolean; readonly facts: ToolFacts };
  readonly suggestion: Suggestion | undefined;
  /** The past calls that its verdict depends on, if a rule looks back. */
  readonly past: Past | undefined;
  /** Its arguments with the content of the artifacts they name; undefined if they name none. */
  readonly resolved?: { readonly arguments: JsonObject } | undefined;
  readonly record: CallRecord | undefined;
  readonly approvalId: string | undefined;
}

export type Claim =
  | { readonly claimed: CallRecord }
  | { readonly claimed: undefined; readonly pastChanged: true }
  | {
      readonly claimed: undefined;
      readonly pastChanged?: undefined;
      readonly call: CallRecord | undefined;
      readonly approval: ApprovalRecord | undefined;
    };

/** How an execution ended, as it is written to the row and the event. */
export interface Settlement {
  readonly state: Extract<CallState, "ok" | "failed" | "unknown" | "suspended">;
  readonly as: EndName;
  readonly outcome: ToolOutcome;
  readonly retryable: boolean;
  /** The tool did not run: the approval can be used again. */
  readonly notExecuted?: true;
  readonly image?: string | undefined;
  /** Until when the same call without a key finds this outcome; undefined leaves it unchanged. */
  readonly aliveUntil?: number | undefined;
}

export interface LedgerOptions {
  /** Durability of settles. */
  readonly durability?: "committed" | "synced";
  readonly history?: CallHistory | undefined;
}

export type { Past };

/**
 * `superseded`: it was settled meanwhile, or could not be written; recovery makes it unknown. `never_claimed`: the claim
 * was only queued and its transaction failed, so there is nothing to settle.
 */
export type SettleResult = "written" | "superseded" | "never_claimed";

const endOf: Readonly<Record<Exclude<Ending["ending"], "refused">, EndName>> = {
  replayed: "deduped",
  previewed: "previewed",
  pending: "deduped",
};
/** Delays before a failed settle is written again, in milliseconds. */
const retryAfterMs: readonly number[] = [50, 500];

export class Ledger {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #policy: { readonly version: string };
  readonly #settleDurability: "committed" | "synced";
  readonly history: CallHistory | undefined;

  constructor(
    store: Store,
    clock: Clock,
    policy: { readonly version: string },
    { durability = "committed", history }: LedgerOptions = {},
  ) {
    this.history = history;
    this.#store = store;
    this.#clock = clock;
    this.#policy = policy;
    this.#settleDurability = durability;
  }

  /** Writes that were answered and then could not be written; only of calls without an effect. */
  get lost(): number {
    return this.#store.lost;
  }

  /** The reason why the store has stopped; undefined while it works. */
  get broken(): Error | undefined {
    return this.#store.broken;
  }

  /** Writes what is answered and not yet written. */
  flush(): Promise<void> {
    return this.#store.flush();
  }

  find(by: CallName): Promise<CallRecord | undefined> {
    return this.#store.call(by);
  }

  /** An equal call of a later turn joins the row. Nothing happens if the row has another call of that turn. */
  async join(key: string, modelCall: ModelCall): Promise<void> {
    await this.#store.commit({ write: "join", key, modelCall }, "committed");
  }

  /** The child calls of a call, newest first. */
  calledBy(parentId: string): Promise<readonly CallRecord[]> {
    return this.#store.calls({ parentId });
  }

  /**
   * One conditional write: attempted, approval used, event. It is on disk before a call with an effect starts
   * (`claimedAs` says which calls need not wait).
   *
   * @returns `pastChanged` if another call was claimed since this one was weighed, and a rule looks at both
   * @throws what the store throws if nothing can be written; then nothing was claimed
   */
  async claim(call: Claimable): Promise<Claim> {
    const { history } = this;
    if (history?.isRead !== true) return this.#claim(call);
    const beginning = beginningOf(call);
    const added = history.add(beginning);
    if (added === undefined) return { claimed: undefined, pastChanged: true };
    let isClaimed = false;
    try {
      const made = await this.#claim(call, history.claimedPast(beginning));
      isClaimed = made.claimed !== undefined;
      return made;
    } finally {
      if (isClaimed) history.confirm(added);
      else history.remove(added);
    }
  }

  async #claim(call: Claimable, past?: ClaimedPast): Promise<Claim> {
    const { key, match, risk, found, approvalId, weighing } = call;
    const at = this.#clock.now();
    const durability = claimedAs(call);
    const hasNoEffect = durability === "queued" || durability === "buffered";
    const claimed: CallRecord = {
      key,
      match: hasNoEffect && call.record === undefined ? undefined : match,
      call,
      state: "attempted",
      risk,
      definition: found.definition,
      idempotent: isRepeatable(call, found),
      fence: this.#store.incarnation,
      approvalId,
      aliveUntil: call.record?.aliveUntil,
      startedAt: at,
      endedAt: undefined,
      outcome: undefined,
      retryable: false,
      image: call.record?.image, // a script that is killed after it was thawed is thawed again
    };
    const [named, use] = approvalId === undefined ? [] : [{ approvalId }, { use: approvalId }];
    const event = { moment: "attempted", at, call, key, weighing, ...named } as const;
    const fresh = key === call.id && call.record === undefined;
    const write = { write: "claim", record: claimed, fresh, ...use, ...(past && { past }), event } as const;
    const committed = await this.#store.commit(write, durability);
    if (!committed.won && committed.pastChanged !== undefined) {
      this.history?.othersChanged(committed.pastChanged);
      return { claimed: undefined, pastChanged: true };
    }
    return committed.won ? { claimed } : { claimed: undefined, call: committed.call, approval: committed.approval };
  }

  /** Writes the outcome and the terminal event, if this process still holds the claim. */
  settle(call: Claimable, claimed: CallRecord, end: Settlement, latencyMs: number): Promise<SettleResult> {
    const at = this.#clock.now();
    const { state, retryable, image, aliveUntil, notExecuted } = end;
    const outcome = deepFrozen(end.outcome); // the row, events and the caller share it from here
    const { openWorld } = call.found.facts;
    const taints = this.history?.ended(call.key, state, call.authority, isFromOutside(openWorld, outcome));
    const { key, fence } = claimed;
    const { weighing, approvalId } = call;
    const event: DurableEvent = {
      moment: "ended",
      at,
      call,
      as: end.as,
      outcome,
      latencyMs,
      weighing,
      ...optionalFields(call, end),
    };
    const isRead = state === "ok" && call.found.facts.effects === "read"; // read again, it may be another answer
    const answersUntil = isRead ? at : aliveUntil;
    const row = {
      state,
      outcome,
      retryable,
      image,
      endedAt: at,
      ...(answersUntil !== undefined && { aliveUntil: answersUntil }),
    };
    const write = { write: "settle", key, fence, end: row, ...(taints && { taints }), event } as const;
    const unspent = notExecuted === true && approvalId !== undefined;
    return this.#write(unspent ? { ...write, unspend: approvalId } : write, this.#settledAs(call));
  }

  #settledAs(call: Claimable): Durability {
    if (this.#settleDurability === "synced") return "synced";
    const claimed = claimedAs(call);
    if (claimed === "buffered") return "buffered";
    const mayCrashAlone = this.#store.leases !== undefined; // a database server, when the caller has the outcome
    return mayCrashAlone && claimed === "synced" ? "synced" : "committed";
  }

  async #write(write: StoreWrite, durability: Durability): Promise<SettleResult> {
    try {
      return settledOf(await this.#store.commit(write, durability));
    } catch {
      return await this.#writeAgain(write, durability);
    }
  }

  /** Stops at once if the store is broken. */
  async #writeAgain(write: StoreWrite, durability: Durability): Promise<SettleResult> {
    for (const waitMs of retryAfterMs) {
      if (this.#store.broken !== undefined) break;
      await new Promise<void>((resolve) => this.#clock.in(waitMs, resolve));
      try {
        return settledOf(await this.#store.commit(write, durability));
      } catch {} // the store has logged the problem
    }
    return "superseded";
  }

  /** Writes the terminal event of a call whose tool did not run. Returns false if it could not be written. */
  async note(call: ToolCall, end: Ending, outcome: ToolOutcome, latencyMs: number): Promise<boolean> {
    const { code } = outcome.refusal ?? {};
    const { weighing } = end;
    const approvalId = end.ending === "pending" ? end.approvalId : outcome.approvalId;
    const event = {
      moment: "ended",
      at: this.#clock.now(),
      call,
      as: end.ending === "refused" ? refusedAs(end.refusal.code) : endOf[end.ending],
      outcome,
      latencyMs,
      policyVersion: this.#policy.version,
      ...(weighing !== undefined && { weighing }),
      ...(code !== undefined && { code }),
      ...(approvalId !== undefined && { approvalId }),
      ...(end.ending === "replayed" && { key: end.key }),
    } as const;
    try {
      return (await this.#store.commit({ write: "note", event }, "committed")).won;
    } catch {
      return false; // the caller gets `audit_unavailable`
    }
  }
}

/**
 * How durable a claim must be before the tool starts. A safe idempotent read has no effect to protect: its claim may
 * share a transaction with its settle, or with other calls of the same script. A script itself has no effect but its
 * calls: when the claim of one of them is on disk, the row of the script is too.
 */
function claimedAs(call: Claimable): Durability {
  if (call.risk !== "safe" || call.approvalId !== undefined) return "synced";
  if (isOnRecord(call)) return "committed";
  const { idempotent, facts } = call.found;
  if (!idempotent || facts.effects !== "read") return "synced";
  return call.authority.fromChain === true ? "buffered" : "queued";
}

function optionalFields(
  { approvalId }: Claimable,
  { outcome: { refusal }, notExecuted }: Settlement,
): { readonly code?: RefusalCode; readonly approvalId?: string; readonly reason?: string } {
  const unspent = approvalId === undefined ? "" : "; its approval can be used again";
  return {
    ...(refusal !== undefined && { code: refusal.code }),
    ...(approvalId !== undefined && { approvalId }),
    ...(notExecuted === true && { reason: `the tool did not run${unspent}` }),
  };
}

function beginningOf(call: Claimable): CallBeginning {
  const { key, authority, risk, suggestion, found, past, record } = call;
  const target = suggestion?.target;
  return {
    key,
    authority,
    arguments: call.resolved?.arguments ?? call.arguments,
    risk,
    facts: found.facts,
    target,
    past,
    isKnown: record !== undefined,
  };
}

function settledOf(committed: Committed): SettleResult {
  if (committed.won) return "written";
  return committed.call === undefined ? "never_claimed" : "superseded";
}

function refusedAs(code: string): EndName {
  if (code === "blocked" || code === "antiflap_blocked" || code === "storm_blocked") return code;
  return code === "cancelled" ? "cancelled" : "refused";
}
