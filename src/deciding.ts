/** Approvals as the public face has them, and the approver of this process. */

import { mayDecide } from "./approvals/admission.ts";
import type { Answer, Approver } from "./approvals/approver.ts";
import { batchProblem } from "./approvals/batch.ts";
import {
  type BatchDecided,
  type BatchRequest,
  type Decided,
  type Decider,
  type DecisionRequest,
  isWellFormed,
} from "./approvals/decision.ts";
import type { Delegations } from "./approvals/delegations.ts";
import type { Grants } from "./approvals/grants.ts";
import { messageOf } from "./calls/fault.ts";
import type { ApprovalRecord } from "./calls/records.ts";
import type { ApprovalPage, Approvals } from "./face.ts";
import type { Parts } from "./parts.ts";
import { type Arrive, benchOf, decide } from "./resume.ts";
import type { Audience } from "./stores/audience.ts";
import type { ApprovalFilter, Store } from "./stores/store.ts";

export interface DecidingOptions {
  readonly parts: Parts;
  readonly store: Store;
  readonly approver: Approver | undefined;
  readonly arrive: Arrive;
  /** Runs the approved call of a tool that runs at its decision (D24). */
  readonly runDetached: (approval: ApprovalRecord) => void;
}

export class Deciding implements Approvals {
  readonly #options: DecidingOptions;
  /** Questions that are open with the approver of this process. */
  readonly #asking = new Map<string, AbortController>();

  constructor(options: DecidingOptions) {
    this.#options = options;
  }

  get grants(): Grants {
    return this.#options.parts.grants;
  }

  get delegations(): Delegations {
    return this.#options.parts.delegations;
  }

  async list(where: ApprovalFilter = {}): Promise<readonly ApprovalRecord[]> {
    const now = this.#options.parts.clock.now();
    const listed = await this.#options.store.approvals(where);
    return where.state === "pending" ? listed.filter(({ expiresAt }) => expiresAt > now) : listed;
  }

  async page(where: ApprovalFilter, mine?: Decider): Promise<ApprovalPage> {
    const { limit = 100, state = mine && "pending" } = where;
    if (limit < 1 || (mine !== undefined && state !== "pending")) return { approvals: [] }; // nobody decides what is decided
    const asked: ApprovalFilter = {
      ...where,
      ...(state !== undefined && { state }),
      ...(mine !== undefined && { isFor: this.#weigher(mine) }),
    };
    const found: ApprovalRecord[] = [];
    for (let after = where.after; ; ) {
      const from = after === undefined ? {} : { after };
      const rows = await this.#options.store.approvals({ ...asked, ...from, limit: limit + 1 });
      for (const [i, row] of rows.slice(0, limit).entries()) {
        after = row.id;
        if (!this.#isOver(row, state)) found.push(row);
        if (found.length === limit) return { approvals: found, ...(i + 1 < rows.length && { nextAfter: row.id }) };
      }
      if (rows.length <= limit) return { approvals: found };
    }
  }

  mayDecide(approval: ApprovalRecord, by: Decider): boolean {
    return approval.state === "pending" && this.#weigher(by)(approval);
  }

  #weigher(by: Decider): (audience: Audience) => boolean {
    return (audience) => mayDecide(audience, by, benchOf(audience, false, this.#options.parts));
  }

  get(id: string): Promise<ApprovalRecord | undefined> {
    return this.#options.parts.book.get(id);
  }

  decide(id: string, request: DecisionRequest): Promise<Decided> {
    return this.#decide(id, request, false);
  }

  /** Each by itself, once it is clear that they are alike: nobody approves one thing by looking at another. */
  async decideMany(ids: readonly string[], { expectedDigests = {}, ...request }: BatchRequest): Promise<BatchDecided> {
    const { book } = this.#options.parts;
    const found = await Promise.all([...new Set(ids)].map(async (id) => ({ id, approval: await book.get(id) })));
    const problem = batchProblem(found, request, book.routing);
    if (problem !== undefined) return problem;
    const answers = await Promise.all(
      found.map(async ({ id }) => {
        const expected = Object.hasOwn(expectedDigests, id) ? expectedDigests[id] : undefined;
        const decided = await this.decide(id, {
          ...request,
          ...(expected !== undefined && { expectedDigest: expected }),
        });
        return { id, decided };
      }),
    );
    return { taken: true, answers };
  }

  async #decide(id: string, request: DecisionRequest, inProcess: boolean): Promise<Decided> {
    const { parts, arrive, runDetached } = this.#options;
    const decided = await decide(id, request, arrive(), inProcess, parts);
    if (!decided.decided) return decided;
    const { approval } = decided;
    if (approval.state === "pending") return decided;
    this.#asking.get(id)?.abort();
    if (approval.state === "approved" && parts.tools.find(approval.tool, approval.action)?.detached === true)
      runDetached(approval);
    return decided;
  }

  withdraw(id: string, by: Decider, reason?: string): Promise<Decided> {
    return this.#takeBack(id, "withdrawn", by, reason);
  }

  revoke(id: string, by: Decider, reason?: string): Promise<Decided> {
    return this.#takeBack(id, "revoked", by, reason);
  }

  #isOver({ expiresAt }: ApprovalRecord, state: ApprovalFilter["state"]): boolean {
    return state === "pending" && expiresAt <= this.#options.parts.clock.now();
  }

  /** Of what nobody has used yet; a claim that was first wins. */
  async #takeBack(id: string, as: "withdrawn" | "revoked", by: Decider, reason?: string): Promise<Decided> {
    const { book } = this.#options.parts;
    const approval = await book.get(id);
    if (approval === undefined || (by.tenant !== undefined && by.tenant !== approval.principal.tenant)) {
      return { decided: false, code: "approval_unknown", message: `There is no approval \`${id}\`.` };
    }
    if (approval.state === "expired")
      return { decided: false, code: "approval_expired", message: `The approval \`${id}\` has expired.`, approval };
    if (as === "revoked" && approval.state !== "approved") return notApproved(approval);
    const ruled = await book.rule(approval, {
      as,
      by: by.user,
      via: by.via ?? `user:${by.user}`,
      reason: reason === undefined ? undefined : this.#options.parts.redactor.redact(reason),
    });
    if (!ruled.won)
      return {
        decided: false,
        code: "approval_decided",
        message: `The approval \`${id}\` is ${ruled.approval.state} already.`,
        approval: ruled.approval,
      };
    this.#asking.get(id)?.abort();
    return { decided: true, approval: ruled.approval };
  }

  /** Asks the approver beside the call that waits; what it answers is a decision like any other (case 74: a throw is a denial). */
  consult(approval: ApprovalRecord): void {
    const { approver, parts } = this.#options;
    if (approver === undefined) return;
    const controller = new AbortController();
    this.#asking.set(approval.id, controller);
    const shown = structuredClone(approval); // the approver's own copy: changing it changes nothing (case 80)
    const asked = Promise.resolve()
      .then(() => approver.ask(shown, controller.signal))
      .then(
        (answer): Answer =>
          isWellFormed(answer)
            ? answer
            : { decision: "denied", reason: "the approver answered nothing that is a decision" },
      )
      .catch((error: unknown): Answer => ({ decision: "denied", reason: `the approver failed: ${messageOf(error)}` }));
    asked
      .then((answer) => this.#answer(approval.id, answer, approver.name))
      .catch((error: unknown) =>
        parts.log(
          `The answer of \`${approver.name}\` to \`${approval.id}\` could not be recorded: ${messageOf(error)}`,
        ),
      )
      .finally(() => this.#asking.delete(approval.id));
  }

  async #answer(id: string, answer: Answer, name: string): Promise<void> {
    const by: Decider = { user: answer.by ?? name, via: `approver:${name}` };
    const { decision, reason } = answer;
    const request = {
      decision,
      by,
      ...(reason !== undefined && { reason }),
      ...(answer.decision === "modified" && { arguments: answer.arguments }),
    };
    const decided = await this.#decide(id, request, true);
    if (!decided.decided && decided.code !== "approval_decided")
      this.#options.parts.log(`The answer of \`${name}\` to \`${id}\` was not taken: ${decided.message}`);
  }
}

function notApproved(approval: ApprovalRecord): Decided {
  return {
    decided: false,
    code: "approval_decided",
    message: `The approval \`${approval.id}\` is ${approval.state}; only one that is approved and not used yet is revoked.`,
    approval,
  };
}
