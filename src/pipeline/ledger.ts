/**
 * What has begun, and how it ended.
 *
 * Invariant: for one key at most one execution starts, and every arrival has exactly one terminal event. The ledger
 * composes writes; the store decides them and commits them.
 * Next: recovery.ts (before any door opens), settlement.ts (an operator's word, a tool's reconcile hook).
 */
import type { Risk, ToolCall } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import type { Ending } from "../core/ending.ts";
import type { DurableEvent, EndName, Weighing } from "../core/event.ts";
import { deepFrozen, type JsonObject } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { ApprovalRecord, CallRecord, CallState, StoreWrite } from "../core/records.ts";
import type { RefusalCode } from "../core/refusals.ts";
import { isOnRecord, isRepeatable } from "../core/repeatable.ts";
import type { Suggestion, ToolFacts } from "../policy/policy.ts";
import type { CallName, Committed, Durability, Store } from "../store/store.ts";
import { type Beginning, type CallHistory, isFromOutside, type Past } from "./history.ts";

/** What the ledger must know of a call to claim it; every ApprovedCall is one. (A stage type would point upwards.) */
export interface Claimable extends ToolCall {
  readonly key: string;
  readonly match: string | undefined;
  readonly risk: Risk;
  readonly weighing: Weighing;
  readonly found: { readonly definition: string; readonly idempotent: boolean; readonly facts: ToolFacts };
  readonly suggestion: Suggestion | undefined;
  /** What it was weighed over, when a rule looks back. */
  readonly past: Past | undefined;
  /** Its arguments with the content of the artifacts they name. None: they name none. */
  readonly resolved?: { readonly arguments: JsonObject } | undefined;
  readonly record: CallRecord | undefined;
  readonly approvalId: string | undefined;
}

export type Claim =
  | { readonly claimed: CallRecord }
  | { readonly claimed: undefined; readonly moved: true }
  | {
      readonly claimed: undefined;
      readonly moved?: undefined;
      readonly call: CallRecord | undefined;
      readonly approval: ApprovalRecord | undefined;
    };

/** How an execution ended, as the row and the event will tell it. */
export interface Settlement {
  readonly state: Extract<CallState, "ok" | "failed" | "unknown" | "suspended">;
  readonly as: EndName;
  readonly outcome: ToolOutcome;
  readonly retryable: boolean;
  /** The tool did not run: an approval that the claim used is not used up. */
  readonly notExecuted?: true;
  readonly image?: string | undefined;
  /** Until when whoever sends it again without a key is answered; none: as it was. */
  readonly aliveUntil?: number | undefined;
}

export interface LedgerOptions {
  /** Of settles. */
  readonly durability?: "committed" | "synced";
  readonly history?: CallHistory | undefined;
}

export type { Past };

export type Settled = "kept" | "unkept" | "unclaimed";

const endOf: Readonly<Record<Exclude<Ending["ending"], "refused">, EndName>> = {
  replayed: "deduped",
  previewed: "previewed",
  pending: "deduped",
};
/** A settle that cannot be written is tried again after so long, in milliseconds. */
const retryAfterMs: readonly number[] = [50, 500];

export class Ledger {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #policyVersion: string;
  readonly #settleDurability: "committed" | "synced";
  /** None: no rule looks back. */
  readonly history: CallHistory | undefined;

  constructor(
    store: Store,
    clock: Clock,
    policyVersion: string,
    { durability = "committed", history }: LedgerOptions = {},
  ) {
    this.history = history;
    this.#store = store;
    this.#clock = clock;
    this.#policyVersion = policyVersion;
    this.#settleDurability = durability;
  }

  /** So many writes were answered and could not be written then: none but of calls without an effect. */
  get lost(): number {
    return this.#store.lost;
  }

  /** Writes now what is answered and not written yet. */
  flush(): Promise<void> {
    return this.#store.flush();
  }

  find(by: CallName): Promise<CallRecord | undefined> {
    return this.#store.call(by);
  }

  /** What a call itself has called, new to old. */
  calledBy(parentId: string): Promise<readonly CallRecord[]> {
    return this.#store.calls({ parentId });
  }

  /**
   * ONE conditional write: attempted, approval used, event. On disk before anything with an effect may start (DESIGN 5);
   * what has none of its own need not wait for that (`claimedAs`).
   *
   * @returns `moved` when another call was claimed since this one was weighed, and a rule looks at both
   * @throws what the store throws when nothing can be written: then nothing was claimed.
   */
  async claim(call: Claimable): Promise<Claim> {
    const { history } = this;
    if (history === undefined) return this.#claim(call);
    const entered = history.enter(beginningOf(call));
    if (entered === undefined) return { claimed: undefined, moved: true };
    let hasBegun = false;
    try {
      const made = await this.#claim(call);
      hasBegun = made.claimed !== undefined;
      return made;
    } finally {
      if (hasBegun) history.began(entered);
      else history.leave(entered);
    }
  }

  async #claim(call: Claimable): Promise<Claim> {
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
      image: call.record?.image, // a script that is killed after its thaw goes on from there once more
    };
    const [named, use] = approvalId === undefined ? [] : [{ approvalId }, { use: approvalId }];
    const event = { moment: "attempted", at, call, key, weighing, ...named } as const;
    const fresh = key === call.id && call.record === undefined;
    const write = { write: "claim", record: claimed, fresh, ...use, event } as const;
    const committed = await this.#store.commit(write, durability);
    return committed.won ? { claimed } : { claimed: undefined, call: committed.call, approval: committed.approval };
  }

  /**
   * `unkept`: somebody else has settled it meanwhile, or it could not be written however often it was tried: recovery will
   * call it unknown. `unclaimed`: the claim was only queued and its transaction failed, so there is nothing to settle.
   */
  settle(call: Claimable, claimed: CallRecord, end: Settlement, latencyMs: number): Promise<Settled> {
    const at = this.#clock.now();
    const { state, retryable, image, aliveUntil, notExecuted } = end;
    const outcome = deepFrozen(end.outcome); // from here on it is in the row, in events, and the caller's
    const { openWorld } = call.found.facts;
    this.history?.ended(call.key, state, call.authority, isFromOutside(openWorld, outcome));
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
      ...rare(call, end),
    };
    const row = { state, outcome, retryable, image, endedAt: at, ...(aliveUntil !== undefined && { aliveUntil }) };
    const write = { write: "settle", key, fence, end: row, event } as const;
    const unspent = notExecuted === true && approvalId !== undefined;
    return this.#write(unspent ? { ...write, unspend: approvalId } : write, this.#settledAs(call));
  }

  #settledAs(call: Claimable): Durability {
    const isWaitedFor = this.#settleDurability === "synced" || claimedAs(call) !== "buffered";
    return isWaitedFor ? this.#settleDurability : "buffered";
  }

  async #write(write: StoreWrite, durability: Durability): Promise<Settled> {
    try {
      return settledOf(await this.#store.commit(write, durability));
    } catch {
      return await this.#writeAgain(write, durability);
    }
  }

  /** Unless it will never be written. */
  async #writeAgain(write: StoreWrite, durability: Durability): Promise<Settled> {
    for (const waitMs of retryAfterMs) {
      if (this.#store.broken !== undefined) break;
      await new Promise<void>((resolve) => this.#clock.in(waitMs, resolve));
      try {
        return settledOf(await this.#store.commit(write, durability));
      } catch {} // what is wrong with the store, the store has logged
    }
    return "unkept";
  }

  /** The terminal event of a call that left the line before its tool ran. False: it could not be written. */
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
      policyVersion: this.#policyVersion,
      ...(weighing !== undefined && { weighing }),
      ...(code !== undefined && { code }),
      ...(approvalId !== undefined && { approvalId }),
      ...(end.ending === "replayed" && { key: end.key }),
    } as const;
    try {
      return (await this.#store.commit({ write: "note", event }, "committed")).won;
    } catch {
      return false; // the caller is told `audit_unavailable`
    }
  }
}

/**
 * A safe idempotent call that only reads has no effect to protect, and may share a transaction with its settle; one of a script with other
 * calls of it, as nothing of what it told the script leaves before more is written. A script has no effect but its calls:
 * what is on the disk before one of theirs may start holds the script's own row as well.
 */
function claimedAs(call: Claimable): Durability {
  if (call.risk !== "safe" || call.approvalId !== undefined) return "synced";
  if (isOnRecord(call)) return "committed";
  const { idempotent, facts } = call.found;
  if (!idempotent || facts.effects !== "read") return "synced";
  return call.authority.fromChain === true ? "buffered" : "queued";
}

function rare(
  { approvalId }: Claimable,
  { outcome: { refusal }, notExecuted }: Settlement,
): { readonly code?: RefusalCode; readonly approvalId?: string; readonly reason?: string } {
  const unspent = approvalId === undefined ? "" : "; its approval is not used up";
  return {
    ...(refusal !== undefined && { code: refusal.code }),
    ...(approvalId !== undefined && { approvalId }),
    ...(notExecuted === true && { reason: `the tool did not run${unspent}` }),
  };
}

function beginningOf(call: Claimable): Beginning {
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

function settledOf(committed: Committed): Settled {
  if (committed.won) return "kept";
  return committed.call === undefined ? "unclaimed" : "unkept";
}

function refusedAs(code: string): EndName {
  if (code === "blocked" || code === "antiflap_blocked" || code === "storm_blocked") return code;
  return code === "cancelled" ? "cancelled" : "refused";
}
