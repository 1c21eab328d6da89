import {
  type Authority,
  type Clock,
  isJsonObject,
  isRunOfTheDay,
  type Json,
  type NotedEvent,
  newTraceId,
  type Principal,
} from "@postern/core";
import { isFromOperator, isRunOfTheDayOf, runOfTheDay } from "../call/authority.ts";
import { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";

export interface RunOwnersOptions {
  readonly store: Pick<Store, "commit" | "documents">;
  readonly clock: Clock;
  readonly policy: { readonly version: string };
}

interface Owner extends Pick<Principal, "agent" | "user"> {
  /** When the run was opened. */
  readonly at?: number;
  /** The operator's side opened the run. */
  readonly isOperators: boolean;
}

/** Owners kept in memory; others are read again. */
const mostRemembered = 10_000;

/**
 * Who owns a run: within a tenant, the first principal that used its id. A run of the day, which Postern names itself,
 * belongs to the principal in its name and is not stored.
 *
 * Invariant: an owner is recorded before the first call of the run continues, and never changes.
 */
export class RunOwners {
  readonly #options: RunOwnersOptions;
  readonly #owners: Collection<Owner>;
  readonly #known = new Map<string, Map<string, Owner>>();
  #remembered = 0;

  constructor(options: RunOwnersOptions) {
    this.#options = options;
    this.#owners = new Collection({ store: options.store, kind: "run", read: ownerFrom, write: ownerToJson });
  }

  /**
   * Whether this principal may use the run. It becomes the owner of a run that has none.
   *
   * @throws what the store throws; the run then has no owner yet
   */
  async claims({ principal, runId }: Pick<Authority, "principal" | "runId">): Promise<boolean> {
    const owner = this.#known.get(principal.tenant)?.get(runId);
    return owner === undefined ? this.#meet(principal, runId, true) : isSame(owner, principal);
  }

  /** The same question, without becoming the owner. */
  async mayUse({ principal, runId }: Authority): Promise<boolean> {
    const owner = this.#known.get(principal.tenant)?.get(runId);
    return owner === undefined ? this.#meet(principal, runId, false) : isSame(owner, principal);
  }

  /**
   * The name of the run in which a call counts: its own run if the operator's side opened it, else all runs of its
   * principal on that UTC day, because such a caller opens as many runs as it likes. Ask after `claims` or `mayUse`.
   */
  countedIn({ principal, runId }: Pick<Authority, "principal" | "runId">, now: number): string {
    const { tenant } = principal;
    const owner = isRunOfTheDay(runId) ? undefined : this.#known.get(tenant)?.get(runId);
    if (owner?.isOperators ?? isFromOperator(principal)) return `run\0${tenant}\0${runId}`;
    return `day\0${tenant}\0${runOfTheDay(principal, now)}`;
  }

  /** When the run was opened, or its day began: wall clock, milliseconds. Undefined if no call has used it. */
  async openedAt(tenant: string, runId: string): Promise<number | undefined> {
    if (isRunOfTheDay(runId)) return Date.parse(runId.replace(/^run_(....)(..)(..)_.*/, "$1-$2-$3"));
    const known = this.#known.get(tenant)?.get(runId) ?? (await this.#owners.get(`${tenant}/${runId}`));
    return known?.at;
  }

  async #meet(principal: Principal, runId: string, toOwn: boolean): Promise<boolean> {
    if (isRunOfTheDay(runId)) {
      if (!isRunOfTheDayOf(runId, principal)) return false;
      this.#remember(principal.tenant, runId, ownerOf(principal));
      return true;
    }
    const owner = await (toOwn ? this.#own(principal, runId) : this.#owners.get(`${principal.tenant}/${runId}`));
    if (owner === undefined) return true;
    this.#remember(principal.tenant, runId, owner);
    return isSame(owner, principal);
  }

  /** Of two that try at once, the second finds the first. */
  async #own(principal: Principal, runId: string): Promise<Owner | undefined> {
    const at = this.#options.clock.now();
    const { item } = await this.#owners.change(`${principal.tenant}/${runId}`, (owner) =>
      owner === undefined
        ? { item: { ...ownerOf(principal), at }, event: this.#opened(principal, runId, at), durability: "committed" }
        : undefined,
    );
    return item;
  }

  #opened(principal: Principal, runId: string, at: number): NotedEvent {
    const { tenant, agent } = principal;
    return {
      moment: "noted",
      at,
      type: "run.opened",
      summary: `Run ${runId} belongs to ${agent}.`,
      traceId: newTraceId(),
      tenant,
      principal,
      policyVersion: this.#options.policy.version,
      outcome: "info",
      data: { run: runId },
    };
  }

  #remember(tenant: string, runId: string, owner: Owner): void {
    if (this.#remembered >= mostRemembered) {
      this.#known.clear();
      this.#remembered = 0;
    }
    const runs = this.#known.get(tenant) ?? new Map<string, Owner>();
    this.#known.set(tenant, runs.set(runId, owner));
    this.#remembered += 1;
  }
}

/** Owner of a run whose record cannot be read: equal to no principal. */
const unreadableOwner: Owner = { agent: "", isOperators: false };

/** A principal is the same however it was authenticated. */
function isSame(owner: Owner, { agent, user }: Principal): boolean {
  return owner.agent === agent && owner.user === user;
}

function ownerFrom(body: Json): Owner {
  if (!isJsonObject(body)) return unreadableOwner;
  const { agent, user, operator, at } = body;
  if (typeof agent !== "string") return unreadableOwner;
  return {
    ...{ agent, isOperators: operator === true },
    ...(typeof user === "string" && { user }),
    ...(typeof at === "number" && { at }),
  };
}

function ownerToJson({ agent, user, isOperators, at = 0 }: Owner): Json {
  return { agent, at, ...(user !== undefined && { user }), ...(isOperators && { operator: true }) };
}

function ownerOf(principal: Principal): Owner {
  const { agent, user } = principal;
  return { agent, ...(user !== undefined && { user }), isOperators: isFromOperator(principal) };
}
