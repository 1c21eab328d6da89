/**
 * Who was asked, and what they said: the only writer of approvals.
 *
 * Invariant: a request is stored before anybody is asked; one decision wins and is never changed; an approval is spent
 * by the claim that uses it (ledger), once; silence is never an answer.
 * Next: binding.ts (what an approval is bound to), approver.ts (who can be asked in this process), wait.ts (who waits for an answer).
 */
import { Arrival } from "../calls/arrival.ts";
import type { Risk, ToolCall } from "../calls/call.ts";
import type { Clock } from "../calls/clock.ts";
import { outcomeOf, refuse } from "../calls/ending.ts";
import type { ApprovalWord, Weighing } from "../calls/event.ts";
import { messageOf, RuntimeFault } from "../calls/fault.ts";
import { newId } from "../calls/ids.ts";
import { canonical, type JsonObject, sha256 } from "../calls/json.ts";
import type { Preview, ToolOutcome } from "../calls/outcome.ts";
import type { ApprovalRecord, CallRecord } from "../calls/records.ts";
import type { Caller } from "../calls/session.ts";
import type { Store } from "../stores/store.ts";
import { bind, previewDigest } from "./binding.ts";
import { type Answered, Waiting } from "./wait.ts";

/** What the book must know of a call to ask about it; every FreshCall is one. (A stage type would point upwards.) */
export interface Question extends ToolCall {
  readonly key: string;
  readonly match: string;
  readonly risk: Risk;
  readonly weighing: Weighing;
  readonly suggestion: { readonly summary?: string } | undefined;
  readonly found: {
    readonly definition: string;
    readonly idempotent: boolean;
    readonly approvalTtlMs: number | undefined;
  };
}

export type Asked =
  | { readonly asked: ApprovalRecord }
  | {
      readonly asked: undefined;
      readonly prior: CallRecord | undefined;
      readonly approval: ApprovalRecord | undefined;
    };

/** One decision on its way into the book. The decider is whoever the door authenticated. */
export interface Ruling {
  readonly as: ApprovalWord;
  readonly by: string;
  readonly via: string;
  readonly reason?: string | undefined;
  /** With `modified`: what runs instead, and its binding, made by the gates that weighed it. */
  readonly edited?:
    | {
        readonly arguments: JsonObject;
        readonly binding: string;
        readonly risk: Risk;
        readonly why: Weighing["reasons"];
      }
    | undefined;
}

export interface BookOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly policyVersion: string;
  readonly log: (problem: string) => void;
}

export class Book implements Disposable {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #policyVersion: string;
  readonly #log: (problem: string) => void;
  readonly #waiting: Waiting;
  readonly #sweeps = new Map<string, () => void>();

  constructor({ store, clock, ttlMs, policyVersion, log }: BookOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#policyVersion = policyVersion;
    this.#log = log;
    this.#waiting = new Waiting(store, clock);
  }

  /** As it stands now: one whose time is over is expired, whether or not the sweeper has come by (D5). */
  async get(id: string): Promise<ApprovalRecord | undefined> {
    const approval = await this.#store.approval(id);
    const live = approval?.state === "pending" || approval?.state === "approved";
    return live && approval.expiresAt <= this.#clock.now() ? { ...approval, state: "expired" } : approval;
  }

  /** Stored before anybody is asked. A racer with the same call gets the first one's record. */
  async ask(question: Question, preview: Preview | undefined): Promise<Asked> {
    const { key, match, risk, weighing, found } = question;
    const at = this.#clock.now();
    const expiresAt = at + (found.approvalTtlMs ?? this.#ttlMs);
    const approval = this.#request(question, preview, at, expiresAt);
    const record: CallRecord = {
      key,
      match,
      risk,
      call: question,
      state: "held",
      definition: found.definition,
      idempotent: found.idempotent,
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
      this.#sweepLater(approval);
      return { asked: approval };
    }
    const first = committed.call?.approvalId;
    return {
      asked: undefined,
      prior: committed.call,
      approval: first === undefined ? undefined : await this.get(first),
    };
  }

  #request(question: Question, preview: Preview | undefined, requestedAt: number, expiresAt: number): ApprovalRecord {
    const { key, tool, action, authority, risk, weighing, suggestion, found } = question;
    return {
      id: newId("apr"),
      key,
      tool,
      action,
      risk,
      requestedAt,
      expiresAt,
      state: "pending",
      principal: authority.principal,
      runId: authority.runId,
      traceId: authority.traceId,
      asked: question.arguments,
      arguments: question.arguments,
      binding: bind(question, expiresAt),
      definition: found.definition,
      ...(authority.autonomy !== undefined && { autonomy: authority.autonomy }),
      why: weighing.reasons,
      ...(suggestion?.summary !== undefined && { summary: suggestion.summary }),
      policyVersion: weighing.policyVersion,
      ...(preview !== undefined && { preview, previewDigest: previewDigest(preview) }),
    };
  }

  /** Waits for a decision, as long as this caller can wait. */
  answered(approval: ApprovalRecord, caller: Caller): Promise<Answered> {
    return this.#waiting.for(approval, caller);
  }

  /** The recorded call with the approved arguments, as a new arrival of the same call; no door can make one. */
  async recorded(approval: ApprovalRecord, arrival: Pick<ToolCall, "id" | "number" | "arrivedAt">): Promise<ToolCall> {
    const record = await this.#store.call({ key: approval.key });
    if (record === undefined)
      throw new RuntimeFault("call_missing", `The approval \`${approval.id}\` has no call; the store is damaged.`);
    const { id, number, arrivedAt } = arrival;
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
    });
  }

  /** One decision wins; whoever comes later gets the record that won. */
  async rule(
    approval: ApprovalRecord,
    ruling: Ruling,
  ): Promise<{ readonly won: boolean; readonly approval: ApprovalRecord }> {
    const at = this.#clock.now();
    const { as, by, via, reason, edited } = ruling;
    const state = as === "modified" ? "approved" : as;
    const { preview: _shown, previewDigest: _digest, ...unseen } = approval; // an edit was not what the preview showed
    const next: ApprovalRecord = {
      ...(edited === undefined
        ? approval
        : { ...unseen, arguments: edited.arguments, binding: edited.binding, risk: edited.risk, why: edited.why }),
      state,
      decision: { as, by, via, at, ...(reason !== undefined && { reason }) },
    };
    const record = await this.#store.call({ key: approval.key });
    if (record === undefined)
      throw new RuntimeFault("call_missing", `The approval \`${approval.id}\` has no call; the store is damaged.`);
    const { call } = record;
    const event = {
      moment: "decided",
      at,
      call,
      approvalId: approval.id,
      as,
      by,
      risk: next.risk,
      policyVersion: this.#policyVersion,
      ...(reason !== undefined && { reason }),
    } as const;
    const denied =
      as === "denied" || as === "skipped" ? deniedOutcome(call.id, as, by, reason, approval.id) : undefined;
    const committed = await this.#store.commit(
      { write: "decide", approval: next, ...(denied !== undefined && { denied }), event },
      "synced",
    );
    if (!committed.won) return { won: false, approval: committed.approval ?? approval };
    this.#sweeps.get(approval.id)?.();
    this.#sweeps.delete(approval.id);
    return { won: true, approval: next };
  }

  /** Requests that were open when this process started expire on time as well. */
  async watchOpen(): Promise<number> {
    const open = await this.#store.approvals({ state: "pending" });
    for (const approval of open) this.#sweepLater(approval);
    return open.length;
  }

  /** Nobody waits any more; what is open stays open in the store. */
  stopWaiting(): void {
    this.#waiting.stop();
  }

  [Symbol.dispose](): void {
    for (const cancel of this.#sweeps.values()) cancel();
    this.#sweeps.clear();
    this.#waiting[Symbol.dispose]();
  }

  #sweepLater(approval: ApprovalRecord): void {
    const expire = (): void => {
      this.#sweeps.delete(approval.id);
      this.rule(approval, { as: "expired", by: "clock", via: "postern", reason: "nobody decided in time" }).catch(
        (error: unknown) => {
          this.#log(
            `The expiry of \`${approval.id}\` could not be written: ${messageOf(error)}. It counts as expired all the same.`,
          );
        },
      );
    };
    this.#sweeps.set(approval.id, this.#clock.in(Math.max(0, approval.expiresAt - this.#clock.now()), expire, false));
  }
}

function deniedOutcome(
  callId: string,
  as: "denied" | "skipped",
  by: string,
  reason: string | undefined,
  approvalId: string,
): ToolOutcome {
  const why = reason === undefined ? "" : ` Reason: ${reason}`;
  const said =
    as === "denied"
      ? `A person (${by}) denied this call; it was not run.${why}`
      : `Skipped by ${by}: continue without it.${why}`;
  return { ...outcomeOf(callId, refuse(`approval_${as}`, said)), approvalId };
}
