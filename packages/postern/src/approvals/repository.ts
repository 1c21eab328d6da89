/**
 * Approval requests and their decisions. Only the repository writes them.
 *
 * Invariant: a request is stored before a person is asked. One decision wins and is never changed. The claim that uses an
 * approval (ledger) spends it, once. Silence is never an answer.
 * Next: routes.ts (who is asked), eligibility.ts (who may decide), quorum.ts (what a decision makes of the record),
 * binding.ts (what an approval is bound to), expiry.ts (reminder, escalation, expiry), grants.ts (remembered approvals),
 * wait.ts (callers that wait), approver.ts (a port: an approver in code).
 */

import {
  type ApprovalComment,
  type ApprovalRecord,
  approvalStates,
  type CallRecord,
  type Clock,
  canonical,
  checkId,
  checkMembers,
  counted,
  isRepeatable,
  type Kind,
  messageOf,
  type Preview,
  RuntimeFault,
  risks,
  type ToolCall,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import { arrivalOf } from "../call/arrival.ts";
import { type Ending, refuse } from "../call/ending.ts";
import type { Caller } from "../call/session.ts";
import { commitAndTake } from "../store/commit-and-take.ts";
import type { ApprovalFilter, GroupFilter, SharedMember, Store } from "../store/store.ts";
import { requestStateAt, type WaitingApproval } from "../store/urgency.ts";
import { type Question, type RequestCaller, requestOf, shownDigest } from "./binding.ts";
import { fullProblem } from "./comments.ts";
import { commentedEvent, decidedEvent, reminderEvent, votedEvent } from "./events.ts";
import { type DueStep, dueNext, Expiry } from "./expiry.ts";
import type { Grant } from "./grant.ts";
import { newsOfOthers, type RequestNews } from "./news.ts";
import { OpenRequests } from "./open-requests.ts";
import type { People } from "./people.ts";
import { count, type WrittenDecision, withStandingVotes } from "./quorum.ts";
import { deniedOutcome } from "./request-outcomes.ts";
import type { Routing } from "./routes.ts";
import { type WaitEnd, WaitingCallers } from "./wait.ts";

export interface ApprovalPage {
  readonly approvals: readonly ApprovalRecord[];
  /** Where the next page begins. Missing on the last page. */
  readonly nextAfter?: string;
  /** How many are pending, by risk. Only on the first page of pending requests, and not of a search. */
  readonly waiting?: WaitingApproval;
  /** Of pending requests: those that end until then come first (wall clock, milliseconds), on all pages of one reading. */
  readonly soonUntil?: number;
}

export type AskResult =
  | { readonly asked: ApprovalRecord }
  | {
      readonly asked: undefined;
      readonly prior: CallRecord | undefined;
      readonly approval: ApprovalRecord | undefined;
    };

export type DecisionResult =
  | { readonly won: true; readonly approval: ApprovalRecord; readonly grant?: Grant | undefined }
  /** `changed`: what was shown is not what is asked now. `voted`: this person has voted already. */
  | { readonly won: false; readonly approval: ApprovalRecord; readonly because?: "changed" | "voted" };

export interface RepositoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ttlMs: number;
  /** So many requests of one agent may be open at once. */
  readonly maxOpenPerAgent: number;
  readonly routing: Routing;
  readonly people: People;
  readonly policy: { readonly version: string };
  readonly log: (problem: string) => void;
}

export class ApprovalRepository implements Disposable {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #open: OpenRequests;
  readonly #people: People;
  readonly #policy: { readonly version: string };
  readonly #callers: WaitingCallers;
  readonly #expiry: Expiry;
  readonly #log: (problem: string) => void;
  readonly #following: Disposable;
  /** What other processes wrote is taken in its order. */
  #taking: Promise<void> = Promise.resolve();
  readonly routing: Routing;

  constructor({ store, clock, ttlMs, maxOpenPerAgent, routing, people, policy, log }: RepositoryOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#open = new OpenRequests(maxOpenPerAgent);
    this.routing = routing;
    this.#people = people;
    this.#policy = policy;
    this.#callers = new WaitingCallers(store, clock, log);
    this.#log = log;
    this.#following = store.follow((entries) => {
      for (const entry of entries) {
        const news = newsOfOthers(entry);
        if (news !== undefined && news.news !== "commented") this.#taking = this.#taking.then(() => this.#take(news));
      }
    });
    this.#expiry = new Expiry({
      clock,
      log,
      expire: (approval) => this.#expire(approval),
      remind: (id, due) => this.#remind(id, due),
    });
  }

  /** The request now: past its time it is expired, and a vote whose approver is barred is not in it, even if that is not written yet. */
  async get(id: string): Promise<ApprovalRecord | undefined> {
    checkId(id, "approval");
    const approval = await this.#store.approval(id);
    if (approval === undefined) return undefined;
    const now = this.asNow(approval);
    return now.state === "pending" ? withStandingVotes(now, this.#people) : now;
  }

  /**
   * Stores a request, or refuses it when its agent has too many open. A second arrival of the same call gets the record
   * of the first.
   */
  async ask(question: Question, preview: Preview | undefined, caller: RequestCaller): Promise<AskResult | Ending> {
    const at = this.#clock.now();
    const approval = requestOf(question, preview, { caller, at, routing: this.routing, ttlMs: this.#ttlMs });
    if (!this.#open.takePlace(approval)) return tooManyOpen(approval.principal.agent, this.#open.mostPerAgent);
    let isStored = false;
    try {
      const asked = await this.#hold(question, approval);
      isStored = asked.asked !== undefined;
      return asked;
    } finally {
      if (!isStored) this.#open.remove(approval);
    }
  }

  async #hold(question: Question, approval: ApprovalRecord): Promise<AskResult> {
    const { key, match, risk, weighing, found } = question;
    const { expiresAt, requestedAt: at } = approval;
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
      this.#expiry.watch(approval);
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
  waitForDecision(approval: ApprovalRecord, caller: Caller): Promise<WaitEnd> {
    return this.#callers.for(approval, caller);
  }

  /** Calls `over` when the request ends, or when the last caller that waited for it has left. */
  whenOver(id: string, over: () => void): () => void {
    return this.#callers.whenOver(id, over);
  }

  /** The recorded call with the approved arguments, as a new arrival of the same call. */
  async recorded(
    approval: ApprovalRecord,
    arrival: Pick<ToolCall, "id" | "arrivedAt" | "batch" | "toolCallId" | "turn">,
  ): Promise<ToolCall> {
    const record = await this.#rowOf(approval);
    const { id, arrivedAt, batch, toolCallId, turn } = arrival;
    const text = canonical(approval.arguments);
    return arrivalOf({
      ...record.call,
      id,
      arrivedAt,
      arguments: approval.arguments,
      text,
      digest: sha256(text),
      resumes: approval.key,
      resumesBy: approval.id,
      batch,
      toolCallId,
      turn,
    });
  }

  /**
   * One decision wins, and a later one gets the record that won. A vote that lost its race to another vote is counted
   * again on the record that won, unless the arguments were edited meanwhile.
   */
  async decide(approval: ApprovalRecord, decision: WrittenDecision): Promise<DecisionResult> {
    const call = await this.#callOf(approval);
    const isYes = decision.as === "approved" || decision.as === "modified";
    for (let seen = approval; ; ) {
      const dated = { ...decision, at: this.#clock.now(), policyVersion: this.#policy.version };
      const counted = count(await withStandingVotes(seen, this.#people), dated);
      if (counted === undefined) return { won: false, approval: seen, because: "voted" };
      const { ends } = counted;
      const expectedRevision = seen.revision ?? 0;
      const next = { ...counted.next, revision: expectedRevision + 1 };
      const denied = ends && !isYes ? deniedOutcome(call.id, next) : undefined;
      const remembered = ends && isYes ? decision.remember?.(next) : undefined;
      const event = ends ? decidedEvent(call, next, dated) : votedEvent(call, next, dated);
      const more = { ...(denied && { denied }), ...(remembered && { addedDocument: remembered.addedDocument }) };
      const write = { write: "decide", approval: next, expectedRevision, ...more, event } as const;
      const committed = await commitAndTake(this.#store, write, "synced", () => remembered?.take());
      if (committed.won) {
        if (ends) this.#forget(approval);
        return { won: true, approval: next, grant: remembered?.grant };
      }
      const found = committed.approval ?? seen;
      if (found.state !== "pending") this.#open.remove(found); // another process decided
      if (found.state !== seen.state || found.revision === seen.revision)
        return { won: false, approval: this.asNow(found) };
      if (isYes && shownDigest(found) !== shownDigest(approval))
        return { won: false, approval: found, because: "changed" };
      seen = found;
    }
  }

  /** Adds a comment to a request that waits and takes one more. */
  async comment(approval: ApprovalRecord, said: Omit<ApprovalComment, "at">): Promise<DecisionResult> {
    for (;;) {
      const seen = this.asNow((await this.#store.approval(approval.id)) ?? approval);
      if (seen.state !== "pending" || fullProblem(seen) !== undefined) return { won: false, approval: seen };
      const comment = { ...said, at: this.#clock.now() };
      const expectedRevision = seen.revision ?? 0;
      const next = { ...seen, comments: [...(seen.comments ?? []), comment], revision: expectedRevision + 1 };
      const event = commentedEvent(next, comment, this.#policy.version);
      const { won } = await this.#store.commit({ write: "decide", approval: next, expectedRevision, event }, "synced");
      if (won) return { won: true, approval: next };
    }
  }

  async #callOf(approval: ApprovalRecord): Promise<ToolCall> {
    return (await this.#rowOf(approval)).call;
  }

  async #rowOf({ id, key }: ApprovalRecord): Promise<CallRecord> {
    const record = await this.#store.call({ key });
    if (record !== undefined) return record;
    throw new RuntimeFault("internal", `The approval \`${id}\` has no call; the store is damaged.`);
  }

  /** The row by the clock. */
  asNow(approval: ApprovalRecord): ApprovalRecord {
    const state = requestStateAt(approval, this.#clock.now());
    return state === approval.state ? approval : { ...approval, state };
  }

  /** Requests that were open when this process started also expire on time. */
  async watchOpen(): Promise<number> {
    const open = await this.#store.approvals({ state: "pending" });
    for (const approval of open) {
      this.#open.add(approval);
      this.#expiry.watch(approval);
    }
    return open.length;
  }

  /** Ends all waits. Open requests stay open in the store. */
  stopWaiting(): void {
    this.#callers.stop();
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
    this.#expiry[Symbol.dispose]();
    this.#callers[Symbol.dispose]();
  }

  /** A request that another process asked is reminded of and expires here too: the first one to write it wins. */
  async #take({ id, news }: RequestNews): Promise<void> {
    try {
      const approval = await this.#store.approval(id);
      if (approval === undefined) return;
      if (news === "ended" || approval.state !== "pending") return this.#forget(approval);
      this.#open.add(approval);
      this.#expiry.watch(approval);
    } catch (error) {
      this.#log(`The request \`${id}\` of another gateway is not watched here: ${messageOf(error)}`);
    }
  }

  #forget(approval: ApprovalRecord): void {
    this.#open.remove(approval);
    this.#expiry.forget(approval.id);
  }

  async #expire(approval: ApprovalRecord): Promise<void> {
    this.#open.remove(approval); // it is over, even if that cannot be written
    await this.decide(approval, { as: "expired", by: "clock", via: "postern", reason: "not decided in time" });
  }

  /** Written first, so that a restart does not remind twice. */
  async #remind(id: string, due: DueStep): Promise<ApprovalRecord | undefined> {
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
      const event = reminderEvent(next, due, { at, policyVersion: this.#policy.version });
      const { won } = await this.#store.commit({ write: "decide", approval: next, expectedRevision, event }, "synced");
      if (won) return next;
      if (approval.expiresAt <= this.#clock.now()) return approval; // too late
    }
  }
}

const filterMembers: Readonly<Record<keyof ApprovalFilter, Kind>> = {
  state: [...approvalStates, "decided"],
  tenant: "a text",
  risk: risks,
  tool: "a text",
  runId: "a text",
  agent: "a text",
  search: "a text",
  principal: "an object",
  after: "a text",
  limit: "a whole number from 0",
};

const groupMembers: Readonly<Record<keyof Omit<GroupFilter, "audiences">, Kind>> = {
  by: "a list of texts",
  tenant: "a text",
  risk: risks,
  tool: "a text",
  runId: "a text",
  agent: "a text",
  principal: "an object",
  limit: "a whole number from 0",
};
const shared: readonly SharedMember[] = ["risk", "tool", "runId", "agent"];

/** @throws RuntimeFault `request_invalid` */
export function checkGroupFilter(where: Omit<GroupFilter, "audiences">): void {
  checkMembers(where, {
    code: "request_invalid",
    what: "The filter",
    members: groupMembers,
    needed: ["by"],
    of: "groups",
  });
  const wrong = where.by.find((member, i) => !shared.includes(member) || where.by.indexOf(member) !== i);
  if (wrong === undefined) return;
  const message = `\`by\` holds \`${String(wrong)}\`; name each of ${shared.join(", ")} at most once.`;
  throw new RuntimeFault("request_invalid", message);
}

/** @throws RuntimeFault `request_invalid` */
export function checkApprovalFilter(where: ApprovalFilter): void {
  checkMembers(where, { code: "request_invalid", what: "The filter", members: filterMembers, of: "approvals" });
}

function tooManyOpen(agent: string, most: number): Ending {
  return refuse(
    "overloaded",
    `${agent} has ${counted(most, "open request")} for approval, the most one agent may have, so this call was not asked about. Send it again when some are decided or withdrawn.`,
  );
}
