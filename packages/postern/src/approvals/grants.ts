import {
  type ApprovalRecord,
  type Authority,
  checkId,
  type JsonObject,
  type Reason,
  type Risk,
  RuntimeFault,
  rankOf,
  type Weighing,
} from "@postern/core";
import { type ConditionCheck, compileConditions } from "../policy/rules/condition.ts";
import type { Audience } from "../store/audience.ts";
import { actorOf, checkRequest, type Decider } from "./decision.ts";
import type { Eligibility } from "./eligibility.ts";
import {
  asking,
  checkGrant,
  checkGrantFilter,
  fits,
  type Grant,
  type GrantAuthor,
  type GrantFilter,
  type GrantState,
  grantOf,
  type NewGrant,
  type Remember,
  spanText,
  untilOf,
} from "./grant.ts";
import { GrantCollection, type GrantCollectionOptions } from "./grant-collection.ts";

/** The members of a call that a grant needs. Every FreshCall has them; its type would be an upward import. */
export interface Grantable {
  readonly tool: string;
  readonly action: string;
  readonly arguments: JsonObject;
  readonly resolved?: { readonly arguments: JsonObject } | undefined;
  readonly authority: Pick<Authority, "principal" | "runId">;
  readonly risk: Risk;
  readonly weighing: Pick<Weighing, "reasons" | "connector">;
  readonly found: { readonly definition: string };
}

export interface GrantsOptions extends GrantCollectionOptions {
  readonly log: (problem: string) => void;
  /** The present definition of a tool. */
  readonly definitionOf: (tool: string, action: string) => string | undefined;
  readonly eligibility: Eligibility;
}

/** The grant that answers for a person, or the grants that fit the call but do not count, and why. */
export interface GrantAnswer {
  readonly grant?: Grant;
  readonly silent: readonly Silent[];
}

interface Silent {
  readonly grant: Grant;
  readonly why: string;
}

/** Uses are written this long after the first unwritten one. No call waits for it. */
const writeUsesMs = 2000;

/**
 * Remembered approvals. They are not policy: they only answer CONFIRM inside the approval gate.
 * Invariant: a grant only answers what its approver was asked: same principal, tool, action and definition, no higher
 * risk, no rule that did not ask at that time; and only while its approver could still approve.
 */
export class Grants implements AsyncDisposable {
  readonly #options: GrantsOptions;
  readonly #collection: GrantCollection;
  readonly #holds = new Map<string, readonly ConditionCheck[]>();
  /** Ids by tenant, tool and action. */
  readonly #byTool = new Map<string, Set<string>>();
  readonly #unwrittenUses = new Map<string, { uses: number; lastUsedAt: number }>();
  readonly #following: Disposable;
  #cancelWriting: (() => void) | undefined;

  private constructor(collection: GrantCollection, options: GrantsOptions) {
    this.#collection = collection;
    this.#options = options;
    for (const grant of collection.items) this.#index(grant);
    collection.updated = (grant) => this.#index(grant);
    this.#following = options.store.follow((entries) => {
      if (this.#byTool.size === 0) return;
      for (const { event } of entries)
        if (event?.moment === "attempted" && event.weighing.grant !== undefined)
          this.#used(event.weighing.grant, event.at);
    });
  }

  /** @throws RuntimeFault `internal` */
  static async open(options: GrantsOptions): Promise<Grants> {
    return new Grants(await GrantCollection.open(options), options);
  }

  get isEmpty(): boolean {
    return this.#byTool.size === 0;
  }

  /** Reads the grant from the store again, so that one that another process revoked answers nothing. */
  async answerFor(call: Grantable, sessionId: string | undefined): Promise<GrantAnswer> {
    const silent: Silent[] = [];
    const ids = this.#byTool.get(keyOf(call.authority.principal.tenant, call.tool, call.action));
    for (const id of ids ?? []) {
      const held = this.#collection.get(id);
      if (held === undefined || !this.#answers(held, call, sessionId)) continue;
      const grant = await this.#collection.fresh(id);
      if (grant === undefined || !this.#answers(grant, call, sessionId)) continue;
      const why =
        outOfSession(grant, sessionId) ?? (await this.#options.eligibility.grantProblem(grant, audienceOf(call)));
      if (why === undefined) return { grant, silent: [] };
      silent.push({ grant, why });
    }
    return { silent };
  }

  /** Why a live grant does not answer now. Returns undefined if it answers. */
  async problem(grant: Grant): Promise<string | undefined> {
    checkGrant(grant);
    return this.#options.eligibility.grantProblem(grant, grant);
  }

  /**
   * The grant that is written with the approval that ends the request.
   *
   * @param remember checked by `rememberProblem` of grant.ts
   */
  newGrant(remember: Remember, approval: ApprovalRecord, by: GrantAuthor): NewGrant {
    const now = this.#options.clock.now();
    const until = untilOf(remember, approval, now);
    if (typeof until === "string") throw new RuntimeFault("request_invalid", until);
    const grant = grantOf(remember, approval, { by, now, until });
    const addedDocument = this.#collection.addedDocument(grant, {
      type: "grant.made",
      summary: `${grant.by} granted ${grant.tool} to ${grant.principal.agent} ${spanText(grant)}`,
      tenant: grant.principal.tenant,
      by: grant.by,
      via: grant.via,
      data: {
        grant_id: grant.id,
        approval_id: approval.id,
        tool: grant.tool,
        action: grant.action,
        reason: grant.reason,
      },
    });
    return { grant, addedDocument, take: () => this.#collection.applyWritten(grant) };
  }

  /** Returns undefined if there is none. A second revocation changes nothing. */
  async revoke(id: string, by: Decider, reason?: string): Promise<Grant | undefined> {
    checkRequest({ by, ...(reason !== undefined && { reason }) });
    checkId(id, "grant");
    return this.#collection.change(id, (grant) => {
      if (grant.revoked !== undefined) return undefined;
      const at = this.#options.clock.now();
      const { by: user, via } = actorOf(by);
      const revoked = { by: user, via, at, ...(reason !== undefined && { reason }) };
      const item = { ...grant, revoked };
      const noted = {
        type: "grant.revoked",
        summary: `${user} revoked the grant of ${grant.tool} to ${grant.principal.agent}`,
        tenant: grant.principal.tenant,
        ...{ by: user, via },
        data: { grant_id: id, tool: grant.tool, ...(reason !== undefined && { reason }) },
      };
      return { item, noted };
    });
  }

  get(id: string): Grant | undefined {
    checkId(id, "grant");
    const grant = this.#collection.get(id);
    return grant && this.#withUses(grant);
  }

  /** Newest first. */
  list(where: GrantFilter = {}): readonly Grant[] {
    checkGrantFilter(where);
    const { tenant, state, tool } = where;
    return this.#collection.items
      .filter((grant) => tenant === undefined || grant.principal.tenant === tenant)
      .filter((grant) => tool === undefined || grant.tool === tool)
      .filter((grant) => state === undefined || this.stateOf(grant) === state)
      .map((grant) => this.#withUses(grant))
      .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  }

  stateOf(grant: Grant): GrantState {
    checkGrant(grant);
    const { revoked, until, tool, action, definition } = grant;
    if (revoked !== undefined) return "revoked";
    if (until <= this.#options.clock.now()) return "over";
    const now = this.#options.definitionOf(tool, action);
    return now !== undefined && now !== definition ? "void" : "live";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#following[Symbol.dispose]();
    this.#cancelWriting?.();
    await this.#writeUses();
  }

  #answers(grant: Grant, call: Grantable, sessionId: string | undefined): boolean {
    const { principal, runId } = call.authority;
    return (
      grant.revoked === undefined &&
      grant.until > this.#options.clock.now() &&
      grant.principal.agent === principal.agent &&
      grant.principal.user === principal.user &&
      grant.definition === call.found.definition &&
      rankOf(call.risk) <= rankOf(grant.risk) &&
      (grant.for !== "run" || grant.runId === runId) &&
      (grant.for !== "session" || grant.sessionId === sessionId || sessionId === undefined) &&
      asking(call.weighing.reasons).every((rule) => grant.asks.includes(rule)) &&
      fits(this.#holds.get(grant.id) ?? [], call.resolved?.arguments ?? call.arguments)
    );
  }

  #index(grant: Grant): void {
    this.#holds.set(grant.id, compileConditions(grant.arguments ?? {}, `the grant \`${grant.id}\``));
    const key = keyOf(grant.principal.tenant, grant.tool, grant.action);
    this.#byTool.set(key, (this.#byTool.get(key) ?? new Set()).add(grant.id));
  }

  #withUses(grant: Grant): Grant {
    const more = this.#unwrittenUses.get(grant.id);
    return more === undefined ? grant : { ...grant, uses: grant.uses + more.uses, lastUsedAt: more.lastUsedAt };
  }

  #used(id: string, at: number): void {
    this.#unwrittenUses.set(id, { uses: (this.#unwrittenUses.get(id)?.uses ?? 0) + 1, lastUsedAt: at });
    this.#cancelWriting ??= this.#options.clock.in(writeUsesMs, () => void this.#writeUses(), false);
  }

  /** The log has each use. The count is for people, and a crash may lose the last ones. */
  async #writeUses(): Promise<void> {
    this.#cancelWriting = undefined;
    const unwritten = [...this.#unwrittenUses];
    this.#unwrittenUses.clear();
    for (const [id, { uses, lastUsedAt }] of unwritten)
      await this.#collection
        .change(id, (grant) => ({ item: { ...grant, uses: grant.uses + uses, lastUsedAt } }))
        .catch((error: unknown) =>
          this.#options.log(`Uses of the grant \`${id}\` could not be written: ${String(error)}`),
        );
  }
}

function outOfSession(grant: Grant, sessionId: string | undefined): string | undefined {
  return grant.for === "session" && sessionId === undefined ? "it answers only in its session" : undefined;
}

/** One of the reasons of a call that the grant answered. */
export function grantReason({ id, by, reason }: Grant): Reason {
  return { rule: `grant ${id} of ${by}: ${reason}`, effect: "ALLOW" };
}

/** One of the reasons of a call whose grant does not count. */
export function silentReason({ grant: { id, by, reason }, why }: Silent): Reason {
  return { rule: `grant ${id} of ${by}: ${reason} (does not count: ${why})`, effect: "CONFIRM" };
}

function audienceOf({ tool, risk, weighing: { connector }, authority: { principal } }: Grantable): Audience {
  return { tool, risk, principal, ...(connector !== undefined && { server: connector }) };
}

/** Names contain no NUL. */
function keyOf(tenant: string, tool: string, action: string): string {
  return `${tenant}\0${tool}\0${action}`;
}
