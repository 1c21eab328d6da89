/** Approvals as the public face has them, and the approver of this process. */
import type { Answer, Approver } from "./approvals/approver.ts";
import { type Decided, type Decider, type DecisionRequest, isWellFormed } from "./approvals/decision.ts";
import { messageOf } from "./calls/fault.ts";
import type { ApprovalRecord } from "./calls/records.ts";
import type { Approvals } from "./face.ts";
import type { Parts } from "./parts.ts";
import { type Arrive, decide } from "./resume.ts";
import type { ApprovalFilter, Store } from "./stores/store.ts";

export interface DecidingOptions {
  readonly parts: Parts;
  readonly store: Store;
  readonly approver: Approver | undefined;
  readonly separateUser: boolean;
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

  async list(where: ApprovalFilter = {}): Promise<readonly ApprovalRecord[]> {
    const now = this.#options.parts.clock.now();
    const listed = await this.#options.store.approvals(where);
    return where.state === "pending" ? listed.filter(({ expiresAt }) => expiresAt > now) : listed;
  }

  get(id: string): Promise<ApprovalRecord | undefined> {
    return this.#options.parts.book.get(id);
  }

  async decide(id: string, request: DecisionRequest): Promise<Decided> {
    const { parts, arrive, separateUser, runDetached } = this.#options;
    const decided = await decide(id, request, arrive(), separateUser, parts);
    if (!decided.decided) return decided;
    this.#asking.get(id)?.abort();
    const { approval } = decided;
    if (approval.state === "approved" && parts.tools.find(approval.tool, approval.action)?.detached === true)
      runDetached(approval);
    return decided;
  }

  async withdraw(id: string, by: Decider, reason?: string): Promise<Decided> {
    const { book } = this.#options.parts;
    const approval = await book.get(id);
    if (approval === undefined || (by.tenant !== undefined && by.tenant !== approval.principal.tenant)) {
      return { decided: false, code: "approval_unknown", message: `There is no approval \`${id}\`.` };
    }
    if (approval.state === "expired")
      return { decided: false, code: "approval_expired", message: `The approval \`${id}\` has expired.`, approval };
    const ruled = await book.rule(approval, {
      as: "withdrawn",
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
    const decided = await this.decide(id, {
      decision,
      by,
      ...(reason !== undefined && { reason }),
      ...(answer.decision === "modified" && { arguments: answer.arguments }),
    });
    if (!decided.decided && decided.code !== "approval_decided")
      this.#options.parts.log(`The answer of \`${name}\` to \`${id}\` was not taken: ${decided.message}`);
  }
}
