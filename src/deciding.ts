/** Approvals as the public face has them, and the approver of this process. */

import type { Accounts } from "./accounts/accounts.ts";
import { permissionsOf } from "./accounts/roles.ts";
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
import { type Arrive, benchOf, type Deciders, decide } from "./resume.ts";
import type { ApprovalFilter, Store } from "./stores/store.ts";

export interface DecidingOptions {
  readonly parts: Parts;
  readonly store: Store;
  readonly approver: Approver | undefined;
  /** Whether people sign in here: the operator's token is nobody's sign-in then. */
  readonly accountsExist: () => boolean;
  readonly accounts: Pick<Accounts, "exist" | "get">;
  readonly arrive: Arrive;
  /** Runs the approved call of a tool that runs at its decision (D24). */
  readonly runDetached: (approval: ApprovalRecord) => void;
}

/** Rows looked through at a time for those that somebody may decide. */
const mineATurn = 1000;

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
    const { limit = 100 } = where;
    const rowsATurn = Math.max(limit, mine === undefined ? 1 : mineATurn);
    const found: ApprovalRecord[] = [];
    for (let after = where.after; ; ) {
      const rows = await this.#options.store.approvals({
        ...where,
        ...(after !== undefined && { after }),
        limit: rowsATurn + 1,
      });
      for (const row of rows.slice(0, rowsATurn)) {
        after = row.id;
        if (this.#isShown(row, where, mine)) found.push(row);
        if (found.length === limit) return { approvals: found, nextAfter: row.id };
      }
      if (rows.length <= rowsATurn) return { approvals: found };
    }
  }

  mayDecide(approval: ApprovalRecord, by: Decider): boolean {
    return mayDecide(approval, by, benchOf(approval, this.#deciders(false), this.#options.parts));
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
    const problem = batchProblem(found, request.by);
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
    const decided = await decide(id, request, arrive(), this.#deciders(inProcess), parts);
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

  #deciders(inProcess: boolean): Deciders {
    return {
      accountsExist: this.#options.accountsExist(),
      inProcess,
      person: (tenant, user) => this.#person(tenant, user),
    };
  }

  /** Nobody knows the operator's token or a library's own people: they are taken at their word. */
  async #person(tenant: string, user: string): ReturnType<NonNullable<Deciders["person"]>> {
    const { accounts } = this.#options;
    if (!accounts.exist) return undefined;
    const account = await accounts.get(user, { by: "postern", via: "postern", tenant }).catch(() => undefined);
    if (account === undefined) return undefined;
    const may = permissionsOf(account.roles, account.tenant).has("approvals:decide");
    return { ...account, disabled: account.disabled || !may };
  }

  #isShown(approval: ApprovalRecord, { state }: ApprovalFilter, mine: Decider | undefined): boolean {
    const isOver = state === "pending" && approval.expiresAt <= this.#options.parts.clock.now();
    return !isOver && (mine === undefined || this.mayDecide(approval, mine));
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
