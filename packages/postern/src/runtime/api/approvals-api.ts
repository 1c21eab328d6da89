/** Approvals in the public API, and the approver of this process. */

import { type ApprovalRecord, checkMember, defined, messageOf } from "@postern/core";
import type { Approver, ApproverAnswer } from "../../approvals/approver.ts";
import { fullProblem, textProblem } from "../../approvals/comments.ts";
import {
  actorOf,
  type BatchDecisionAnswer,
  type BatchRequest,
  batchProblem,
  checkDecider,
  checkRequest,
  type Decider,
  type DecisionAnswer,
  type DecisionRequest,
  type Eligible,
  isWellFormed,
  noApproval,
} from "../../approvals/decision.ts";
import { checkEligible, eligibilityOf, overProblem } from "../../approvals/eligibility.ts";
import type { Grants } from "../../approvals/grants.ts";
import { type ApprovalPage, checkApprovalFilter, checkGroupFilter } from "../../approvals/repository.ts";
import { isElsewhere } from "../../call/authority.ts";
import { decide } from "../../pipeline/decide.ts";
import type { Parts } from "../../pipeline/dependencies.ts";
import { resume } from "../../pipeline/resume.ts";
import type {
  ApprovalFilter,
  AudienceFilter,
  RequestCounts,
  Store,
  WaitingAudience,
  WaitingFilter,
  WaitingGroup,
} from "../../store/store.ts";
import { cursorOf, soonUntilOf, type WaitingApproval } from "../../store/urgency.ts";
import type { ReEntry } from "../services/re-entry.ts";
import type { Approvals, WaitingGroupFilter } from "./api.ts";

export interface ApprovalsApiOptions {
  readonly parts: Parts;
  readonly store: Store;
  readonly approver: Approver | undefined;
  readonly entrance: ReEntry;
}

export class ApprovalsApi implements Approvals {
  readonly #options: ApprovalsApiOptions;
  /** Requests that the approver of this process is deciding now. */
  readonly #asking = new Map<string, AbortController>();

  constructor(options: ApprovalsApiOptions) {
    this.#options = options;
  }

  get grants(): Grants {
    return this.#options.parts.grants;
  }

  async list(where: ApprovalFilter = {}): Promise<readonly ApprovalRecord[]> {
    checkApprovalFilter(where);
    const soonUntil = soonUntilOf(where.after, this.#options.parts.clock.now());
    return (await this.#page({ ...where, soonUntil, limit: where.limit ?? Number.POSITIVE_INFINITY })).approvals;
  }

  async page(where: ApprovalFilter = {}, decider?: Decider): Promise<ApprovalPage> {
    checkApprovalFilter(where);
    if (decider !== undefined) checkDecider(decider);
    const { limit = 100, state = decider && "pending", after } = where;
    if (decider !== undefined && state !== "pending") return { approvals: [] }; // decided requests cannot be decided again
    const asked = { ...where, limit, ...defined({ state }) };
    if (state !== "pending") return this.#page(asked);
    const { store, parts } = this.#options;
    const soonUntil = soonUntilOf(after, parts.clock.now());
    const { risk: _, ...counted } = where; // each risk is counted, whichever is shown
    const mine = defined({ audiences: await this.#audiencesOf(decider, counted) });
    const page = { ...(await this.#page({ ...asked, ...mine, soonUntil })), soonUntil };
    if (after !== undefined || where.search !== undefined) return page;
    return { ...page, waiting: byRisk(await store.groups({ ...counted, ...mine, limit: Infinity, by: ["risk"] })) };
  }

  async groups(where: WaitingGroupFilter, decider?: Decider): Promise<readonly WaitingGroup[]> {
    checkGroupFilter(where);
    if (decider !== undefined) checkDecider(decider);
    const audiences = await this.#audiencesOf(decider, where);
    return this.#options.store.groups({ ...where, ...defined({ audiences }) });
  }

  counts(tenant: string): Promise<RequestCounts> {
    return this.#options.store.counts({ tenant });
  }

  /** Keys of the audiences whose requests this person may decide. */
  async #audiencesOf(decider: Decider | undefined, where: WaitingFilter): Promise<readonly string[] | undefined> {
    if (decider === undefined) return undefined;
    return this.#decidedBy(decider, await this.#options.store.audiences(where)).map(({ key }) => key);
  }

  /** Reads pages until the limit is reached. A request that is pending in the store but has expired by the clock is not pending. */
  async #page(asked: AudienceFilter & { readonly limit: number }): Promise<ApprovalPage> {
    const { limit, state, soonUntil } = asked;
    const { approvals } = this.#options.parts;
    if (limit < 1) return { approvals: [] };
    const found: ApprovalRecord[] = [];
    for (let { after } = asked; ; ) {
      const from = after === undefined ? {} : { after };
      const rows = await this.#options.store.approvals({ ...asked, ...from, limit: limit + 1 });
      for (const [i, row] of rows.slice(0, limit).entries()) {
        after = cursorOf(row, state === "pending" ? soonUntil : undefined);
        const approval = approvals.asNow(row);
        if (isOfState(approval, state)) found.push(approval);
        if (found.length === limit) return { approvals: found, ...(i + 1 < rows.length && { nextAfter: after }) };
      }
      if (rows.length <= limit) return { approvals: found };
    }
  }

  async eligibility(approvals: readonly ApprovalRecord[], by: Decider): Promise<readonly Eligible[]> {
    checkDecider(by);
    checkMember("approvals", approvals, "a list of objects", "request_invalid");
    const { eligibility } = this.#options.parts;
    return approvals.map((approval) => eligibilityOf(approval, by, eligibility.contextOf(approval)));
  }

  /** The audiences whose requests this person may approve. */
  #decidedBy(by: Decider, audiences: readonly WaitingAudience[]): readonly WaitingAudience[] {
    const { eligibility } = this.#options.parts;
    return audiences.filter(
      ({ audience }) => checkEligible(audience, { by }, eligibility.contextOf(audience)) === undefined,
    );
  }

  get(id: string): Promise<ApprovalRecord | undefined> {
    return this.#options.parts.approvals.get(id);
  }

  async decide(id: string, request: DecisionRequest): Promise<DecisionAnswer> {
    return this.#decide(id, request, false);
  }

  /** Decides each request by itself, after checking that all are alike. */
  async decideMany(ids: readonly string[], asked: BatchRequest): Promise<BatchDecisionAnswer> {
    checkRequest(asked);
    checkMember("ids", ids, "a list of texts", "decision_invalid");
    const { expectedDigests = {}, ...request } = asked;
    const { approvals } = this.#options.parts;
    const found = await Promise.all([...new Set(ids)].map(async (id) => ({ id, approval: await approvals.get(id) })));
    const problem = batchProblem(found, request, approvals.routing);
    if (problem !== undefined) return problem;
    const answers = await Promise.all(
      found.map(async ({ id }) => {
        const expected = Object.hasOwn(expectedDigests, id) ? expectedDigests[id] : undefined;
        const decided = await this.decide(id, {
          ...request,
          ...defined({ expectedDigest: expected }),
        });
        return { id, decided };
      }),
    );
    return { taken: true, answers };
  }

  async #decide(id: string, request: DecisionRequest, inProcess: boolean): Promise<DecisionAnswer> {
    checkRequest(request);
    const { parts, entrance } = this.#options;
    const decided = await decide(id, { ...request, inProcess }, entrance.factory.arrive(), parts);
    if (!decided.decided) return decided;
    const { approval } = decided;
    if (approval.state === "pending") return decided;
    if (approval.state === "approved" && parts.tools.find(approval.tool, approval.action)?.detached === true)
      void this.#runDetached(approval);
    return decided;
  }

  /** Runs the call of a tool that runs at its decision, without a waiting caller. A script may be frozen again. */
  async #runDetached({ id, tool }: ApprovalRecord): Promise<void> {
    const { parts, entrance } = this.#options;
    await entrance
      .reEnter({ patience: "suspend" }, (arrival, caller) => resume(id, arrival, caller, parts))
      .catch((error: unknown) => parts.log(`The detached call of \`${tool}\` was cancelled: ${String(error)}`));
  }

  async comment(id: string, by: Decider, text: string): Promise<DecisionAnswer> {
    checkDecider(by);
    checkMember("text", text, "a text", "decision_invalid");
    const { approvals, eligibility, redactor } = this.#options.parts;
    const approval = await approvals.get(id);
    if (approval === undefined) return { decided: false, code: "approval_unknown", message: noApproval(id) };
    const refused = checkEligible(approval, { by, decision: "denied" }, eligibility.contextOf(approval));
    if (refused?.code === "approval_unknown") return { decided: false, ...refused };
    const { by: user, via } = actorOf(by);
    const said = { by: user, via, text: redactor.redact(text.trim()) };
    const problem = refused ?? textProblem(text) ?? fullProblem(approval);
    if (problem !== undefined) return { decided: false, code: problem.code, message: problem.message, approval };
    const { won, approval: now } = await approvals.comment(approval, said);
    if (won) return { decided: true, approval: now };
    return { decided: false, ...(fullProblem(now) ?? overProblem(now)), approval: now };
  }

  withdraw(id: string, by: Decider, reason?: string): Promise<DecisionAnswer> {
    return this.#end(id, "withdrawn", by, reason);
  }

  revoke(id: string, by: Decider, reason?: string): Promise<DecisionAnswer> {
    return this.#end(id, "revoked", by, reason);
  }

  /** Ends a request that is not used yet. A claim that was earlier wins. */
  async #end(
    id: string,
    as: "withdrawn" | "revoked",
    by: Decider,
    reason: string | undefined,
  ): Promise<DecisionAnswer> {
    checkRequest({ by, ...defined({ reason }) });
    const { approvals } = this.#options.parts;
    const approval = await approvals.get(id);
    if (approval === undefined || isElsewhere(approval.principal, by.tenant)) {
      return { decided: false, code: "approval_unknown", message: noApproval(id) };
    }
    if (approval.state === "expired")
      return { decided: false, code: "approval_expired", message: `The approval \`${id}\` has expired.`, approval };
    if (as === "revoked" && approval.state !== "approved") return notApproved(approval);
    const actor = actorOf(by);
    const result = await approvals.decide(approval, {
      as,
      ...{ by: actor.by, via: actor.via },
      reason: reason === undefined ? undefined : this.#options.parts.redactor.redact(reason),
    });
    if (!result.won)
      return {
        decided: false,
        code: "approval_decided",
        message: `The approval \`${id}\` is already ${result.approval.state}.`,
        approval: result.approval,
      };
    return { decided: true, approval: result.approval };
  }

  /** Asks the approver while the call waits. Its answer is a normal decision; if it throws, the request is denied. */
  consult(approval: ApprovalRecord): void {
    const { approver, parts } = this.#options;
    if (approver === undefined || this.#asking.has(approval.id)) return;
    const controller = new AbortController();
    this.#asking.set(approval.id, controller);
    const forget = (): void => {
      if (this.#asking.get(approval.id) === controller) this.#asking.delete(approval.id);
    };
    const unsubscribe = parts.approvals.whenOver(approval.id, () => {
      forget(); // a re-send asks the approver again
      controller.abort();
    });
    const shown = structuredClone(approval); // a copy: the approver may change it
    const asked = Promise.resolve()
      .then(() => approver.ask(shown, controller.signal))
      .then(
        (answer): ApproverAnswer =>
          isWellFormed(answer) && answer.by !== "" && [answer.by, answer.reason].every(isTextOrMissing)
            ? answer
            : { decision: "denied", reason: "the approver returned no decision" },
      )
      .catch(
        (error: unknown): ApproverAnswer => ({
          decision: "denied",
          reason: `the approver failed: ${messageOf(error)}`,
        }),
      );
    asked
      .then((answer) => (controller.signal.aborted ? undefined : this.#answer(approval.id, answer, approver.name)))
      .catch((error: unknown) =>
        parts.log(
          `The answer of \`${approver.name}\` to \`${approval.id}\` could not be recorded: ${messageOf(error)}`,
        ),
      )
      .finally(() => {
        unsubscribe();
        forget();
      });
  }

  async #answer(id: string, answer: ApproverAnswer, name: string): Promise<void> {
    const by: Decider = { user: answer.by ?? name, via: `approver:${name}` };
    const { decision, reason } = answer;
    const request = {
      decision,
      by,
      ...defined({ reason }),
      ...(answer.decision === "modified" && { arguments: answer.arguments }),
    };
    const decided = await this.#decide(id, request, true);
    if (!decided.decided && decided.code !== "approval_decided")
      this.#options.parts.log(`The answer of \`${name}\` to \`${id}\` was not taken: ${decided.message}`);
  }
}

function isOfState({ state }: ApprovalRecord, wanted: ApprovalFilter["state"]): boolean {
  return wanted === undefined || (wanted === "decided" ? state !== "pending" : state === wanted);
}

function isTextOrMissing(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function notApproved(approval: ApprovalRecord): DecisionAnswer {
  return {
    decided: false,
    code: "approval_decided",
    message: `The approval \`${approval.id}\` is ${approval.state}; only an approved request that is not used yet can be revoked.`,
    approval,
  };
}

function byRisk(groups: readonly WaitingGroup[]): WaitingApproval {
  const waiting = { safe: 0, medium: 0, high: 0, critical: 0 };
  for (const { risk, waiting: count } of groups) if (risk !== undefined) waiting[risk] += count;
  return waiting;
}
