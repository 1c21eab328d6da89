/**
 * Who was asked, and what they said: the only writer of approvals.
 *
 * Invariant: a request is stored before anybody is asked; one decision wins and is never changed; an approval is spent
 * by the claim that uses it (ledger), once; silence is never an answer.
 * Next: routing.ts (who is asked), admission.ts (who may decide), voting.ts (what a decision makes of the record), binding.ts
 * (what an approval is bound to), sweeper.ts (time), grants.ts (what is remembered), wait.ts (who waits for an answer).
 */
import { Arrival } from "../calls/arrival.ts";
import type { ToolCall } from "../calls/call.ts";
import { checkId } from "../calls/checked-id.ts";
import type { Clock } from "../calls/clock.ts";
import { outcomeOf, refuse } from "../calls/ending.ts";
import type { DurableEvent } from "../calls/event.ts";
import { RuntimeFault } from "../calls/fault.ts";
import { canonical, digestOf, sha256 } from "../calls/json.ts";
import type { Preview, ToolOutcome } from "../calls/outcome.ts";
import type { ApprovalRecord, CallRecord } from "../calls/records.ts";
import { isRepeatable } from "../calls/repeatable.ts";
import type { Caller } from "../calls/session.ts";
import { commitAndTake, type Store } from "../stores/store.ts";
import { stateAt } from "../stores/urgency.ts";
import { shownDigest } from "./binding.ts";
import type { Grant } from "./grant.ts";
import { reminding, tell } from "./noted.ts";
import { type Asking, type Question, requestOf } from "./request.ts";
import { votesLeft } from "./routed.ts";
import type { Routing } from "./routing.ts";
import type { Dated, Ruling } from "./ruling.ts";
import { type Due, dueNext, Sweeper } from "./sweeper.ts";
import { counted } from "./voting.ts";
import { type Answered, Waiting } from "./wait.ts";

export type Asked =
  | { readonly asked: ApprovalRecord }
  | {
      readonly asked: undefined;
      readonly prior: CallRecord | undefined;
      readonly approval: ApprovalRecord | undefined;
    };

export type Ruled =
  | { readonly won: true; readonly approval: ApprovalRecord; readonly grant?: Grant | undefined }
  /** `changed`: what was shown is not what is asked any more. `voted`: this person's word is counted already. */
  | { readonly won: false; readonly approval: ApprovalRecord; readonly because?: "changed" | "voted" };

export interface BookOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly routing: Routing;
  readonly policyVersion: string;
  readonly log: (problem: string) => void;
}

export class Book implements Disposable {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #policyVersion: string;
  readonly #waiting: Waiting;
  readonly #sweeper: Sweeper;
  /** What is demanded of decisions now. */
  readonly routing: Routing;

  constructor({ store, clock, ttlMs, routing, policyVersion, log }: BookOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.routing = routing;
    this.#policyVersion = policyVersion;
    this.#waiting = new Waiting(store, clock);
    this.#sweeper = new Sweeper({
      clock,
      log,
      expire: (approval) => this.#expire(approval),
      remind: (id, due) => this.#remind(id, due),
    });
  }

  /** As it stands now: one whose time is over is expired, whether or not the sweeper has come by (D5). */
  async get(id: string): Promise<ApprovalRecord | undefined> {
    checkId(id, "approval");
    const approval = await this.#store.approval(id);
    return approval && this.asNow(approval);
  }

  /** Stored before anybody is asked. A racer with the same call gets the first one's record. */
  async ask(question: Question, preview: Preview | undefined, caller: Asking): Promise<Asked> {
    const { key, match, risk, weighing, found } = question;
    const at = this.#clock.now();
    const approval = requestOf(question, preview, { caller, at, routing: this.routing, ttlMs: this.#ttlMs });
    const { expiresAt } = approval;
    const record: CallRecord = {
      key,
      match,
      risk,
      call: question,
      state: "held",
      definition: found.definition,
      idempotent: isRepeatable(question, found),
      fence: undefined,
      approvalId: approval.id,
      aliveUntil: expiresAt,
      startedAt: undefined,
      endedAt: undefined,
      outcome: undefined,
      retryable: false,
      image: undefined,
    };
    const event = { moment: "held", at, call: question, weighing, approvalId: approval.id, expiresAt } as const;
    const committed = await this.#store.commit({ write: "hold", record, approval, event }, "synced");
    if (committed.won) {
      this.#sweeper.watch(approval);
      return { asked: approval };
    }
    const first = committed.call?.approvalId;
    return {
      asked: undefined,
      prior: committed.call,
      approval: first === undefined ? undefined : await this.get(first),
    };
  }

  /** Waits for a decision, as long as this caller can wait. */
  answered(approval: ApprovalRecord, caller: Caller): Promise<Answered> {
    return this.#waiting.for(approval, caller);
  }

  /** Called when the request is over in whatever way, or the last caller who waited for it has left. */
  whenOver(id: string, over: () => void): () => void {
    return this.#waiting.whenOver(id, over);
  }

  /** The recorded call with the approved arguments, as a new arrival of the same call; no door can make one. */
  async recorded(
    approval: ApprovalRecord,
    arrival: Pick<ToolCall, "id" | "number" | "arrivedAt" | "batch" | "toolCallId">,
  ): Promise<ToolCall> {
    const record = await this.#rowOf(approval);
    const { id, number, arrivedAt, batch, toolCallId } = arrival;
    const text = canonical(approval.arguments);
    return new Arrival({
      ...record.call,
      id,
      number,
      arrivedAt,
      arguments: approval.arguments,
      text,
      digest: sha256(text),
      resumes: approval.key,
      resumesBy: approval.id,
      batch,
      toolCallId,
    });
  }

  /**
   * One decision wins; whoever comes later gets the record that won. A vote that lost its race to another vote is
   * counted anew on what won, unless what it said yes to was edited meanwhile.
   */
  async rule(approval: ApprovalRecord, ruling: Ruling): Promise<Ruled> {
    const call = await this.#callOf(approval);
    const isYes = ruling.as === "approved" || ruling.as === "modified";
    for (let seen = approval; ; ) {
      const dated = { ...ruling, at: this.#clock.now() };
      const count = counted(seen, dated);
      if (count === undefined) return { won: false, approval: seen, because: "voted" };
      const { ends } = count;
      const expectedRevision = seen.revision ?? 0;
      const next = { ...count.next, revision: expectedRevision + 1 };
      const denied = ends && !isYes ? deniedOutcome(call.id, next) : undefined;
      const remembered = ends && isYes ? ruling.remember?.(next) : undefined;
      const event = ends ? this.#decided(call, next, dated) : this.#voted(call, next, dated);
      const more = { ...(denied && { denied }), ...(remembered && { along: remembered.along }) };
      const write = { write: "decide", approval: next, expectedRevision, ...more, event } as const;
      const committed = await commitAndTake(this.#store, write, "synced", () => remembered?.take());
      if (committed.won) {
        if (ends) this.#sweeper.forget(approval.id);
        return { won: true, approval: next, grant: remembered?.grant };
      }
      const found = committed.approval ?? seen;
      if (found.state !== seen.state || found.revision === seen.revision)
        return { won: false, approval: this.asNow(found) };
      if (isYes && shownDigest(found) !== shownDigest(approval))
        return { won: false, approval: found, because: "changed" };
      seen = found;
    }
  }

  #decided(call: ToolCall, next: ApprovalRecord, ruling: Dated): DurableEvent {
    const { as, by, via, at, onBehalfOf, reason } = ruling;
    const approved = approvedInstead(call, next, ruling);
    return {
      moment: "decided",
      at,
      call,
      approvalId: next.id,
      as,
      by,
      via,
      ...(onBehalfOf !== undefined && { onBehalfOf }),
      risk: next.risk,
      policyVersion: this.#policyVersion,
      ...(reason !== undefined && { reason }),
      ...(approved !== undefined && { approved }),
    };
  }

  #voted(call: ToolCall, next: ApprovalRecord, ruling: Dated): DurableEvent {
    const approved = approvedInstead(call, next, ruling);
    const { as, by, via, at, onBehalfOf, reason, quorum } = ruling;
    const left = votesLeft(next, quorum);
    const said = as === "modified" ? "edited" : `voted on (${as})`;
    return tell(next, {
      type: "approval.voted",
      summary: `${next.tool} ${said} by ${by}, ${left} more must say yes`,
      at,
      by,
      via,
      policyVersion: this.#policyVersion,
      data: {
        as,
        quorum_left: left,
        ...(approved !== undefined && { approved_hash: approved }),
        ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
        ...(reason !== undefined && { reason }),
      },
    });
  }

  async #callOf(approval: ApprovalRecord): Promise<ToolCall> {
    return (await this.#rowOf(approval)).call;
  }

  async #rowOf({ id, key }: ApprovalRecord): Promise<CallRecord> {
    const record = await this.#store.call({ key });
    if (record !== undefined) return record;
    throw new RuntimeFault("call_missing", `The approval \`${id}\` has no call; the store is damaged.`);
  }

  /** A row as it stands now. */
  asNow(approval: ApprovalRecord): ApprovalRecord {
    const state = stateAt(approval, this.#clock.now());
    return state === approval.state ? approval : { ...approval, state };
  }

  /** Requests that were open when this process started expire on time as well. */
  async watchOpen(): Promise<number> {
    const open = await this.#store.approvals({ state: "pending" });
    for (const approval of open) this.#sweeper.watch(approval);
    return open.length;
  }

  /** Nobody waits any more; what is open stays open in the store. */
  stopWaiting(): void {
    this.#waiting.stop();
  }

  [Symbol.dispose](): void {
    this.#sweeper[Symbol.dispose]();
    this.#waiting[Symbol.dispose]();
  }

  async #expire(approval: ApprovalRecord): Promise<void> {
    await this.rule(approval, { as: "expired", by: "clock", via: "postern", reason: "not decided in time" });
  }

  /** Once each, on record: a restart reminds nobody twice. */
  async #remind(id: string, due: Due): Promise<ApprovalRecord | undefined> {
    for (;;) {
      const approval = await this.#store.approval(id);
      if (approval?.state !== "pending" || dueNext(approval)?.due !== due) return approval;
      const at = this.#clock.now();
      const expectedRevision = approval.revision ?? 0;
      const next = {
        ...approval,
        [due === "reminder" ? "remindedAt" : "escalatedAt"]: at,
        revision: expectedRevision + 1,
      };
      const event = reminding(next, due, { at, policyVersion: this.#policyVersion });
      const { won } = await this.#store.commit({ write: "decide", approval: next, expectedRevision, event }, "synced");
      if (won) return next;
      if (approval.expiresAt <= this.#clock.now()) return approval; // too late to remind anybody
    }
  }
}

/** What a yes is to, where that is not what was asked. */
function approvedInstead(call: ToolCall, { arguments: runs }: ApprovalRecord, { as }: Ruling): string | undefined {
  if (as !== "approved" && as !== "modified") return undefined;
  const digest = digestOf(runs);
  return digest === call.digest ? undefined : digest;
}

/** What a held call ends with when its request expires, decided or not. */
export function expiredOutcome(callId: string, of: Pick<ApprovalRecord, "id" | "expiresAt">): ToolOutcome {
  return { ...outcomeOf(callId, refuse(...refusalOf({ ...of, state: "expired" }, "", ""))), approvalId: of.id };
}

/** What the held call ends with. If the request was not denied, the store lets the same call ask again. */
function deniedOutcome(callId: string, { id, state, decision, expiresAt }: ApprovalRecord): ToolOutcome {
  const { by = "", reason } = decision ?? {};
  const why = reason === undefined ? "" : ` Reason: ${reason}`;
  const ended = refuse(...refusalOf({ id, state, expiresAt }, by, why));
  return { ...outcomeOf(callId, ended), approvalId: id };
}

function refusalOf(
  { id, state, expiresAt }: Pick<ApprovalRecord, "id" | "state" | "expiresAt">,
  by: string,
  why: string,
): Parameters<typeof refuse> {
  switch (state) {
    case "denied":
      return ["approval_denied", `A person (${by}) denied this call; it was not run.${why}`];
    case "skipped":
      return ["approval_skipped", `Skipped by ${by}: continue without it.${why}`];
    case "expired":
      return [
        "approval_expired",
        `The approval request \`${id}\` expired at ${new Date(expiresAt).toISOString()}, so the call was not run. Send the call again to ask again.`,
      ];
    default:
      return ["approval_withdrawn", `The request for approval was withdrawn by ${by}; the call was not run.${why}`];
  }
}
