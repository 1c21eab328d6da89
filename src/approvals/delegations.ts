import { checkId } from "../core/checked-id.ts";
import { checkMembers, type Kind } from "../core/checked-members.ts";
import { RuntimeFault } from "../core/fault.ts";
import { newId } from "../core/ids.ts";
import { isJsonObject, type Json } from "../core/json.ts";
import { isSamePerson } from "../core/same-person.ts";
import { shown } from "../core/shown.ts";
import { actorOf, checkDecider, type Decider, operatorToken } from "./decision.ts";
import { RecordedCollection, type RecordedCollectionOptions } from "./documents.ts";
import { giverNow, type People, personOf, stillHeld } from "./people.ts";

/** One person decides on behalf of another until a time. The receiver cannot pass it on, and cannot decide what the giver asked for. */
export interface Delegation {
  readonly id: string;
  readonly tenant: string;
  readonly from: string;
  readonly to: string;
  /** The roles and groups of its giver when it was made. */
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  /** Whether its giver had signed in. If missing, the credential decides. */
  readonly signedIn?: boolean;
  /** Wall clock, milliseconds; exclusive. */
  readonly until: number;
  readonly reason?: string;
  readonly at: number;
  readonly via: string;
  readonly revoked?: { readonly by: string; readonly via?: string; readonly at: number };
}

/**
 * Selects delegations.
 *
 * @public
 */
export interface DelegationFilter {
  readonly tenant?: string;
  readonly live?: boolean;
}

export interface DelegationRequest {
  readonly to: string;
  /** Wall clock, milliseconds. */
  readonly until: number;
  readonly reason?: string;
}

export interface DelegationsOptions extends RecordedCollectionOptions {
  readonly people: People;
}

export type Delegated =
  | { readonly delegated: true; readonly delegation: Delegation }
  | { readonly delegated: false; readonly code: "delegation_invalid" | "delegation_unknown"; readonly message: string };

const filterMembers: Readonly<Record<keyof DelegationFilter, Kind>> = { tenant: "a text", live: "true or false" };
const requestMembers = { to: "a text", until: "a number", reason: "a text" } as const;
const longestMs = 90 * 86_400_000;
const controlCharacter = /\p{Cc}/u;

/** All delegations. A person delegates only their own decisions. */
export class Delegations {
  readonly #collection: RecordedCollection<Delegation>;
  readonly #options: DelegationsOptions;

  private constructor(collection: RecordedCollection<Delegation>, options: DelegationsOptions) {
    this.#collection = collection;
    this.#options = options;
  }

  /** @throws RuntimeFault `delegation_unreadable` */
  static async open(options: DelegationsOptions): Promise<Delegations> {
    return new Delegations(await RecordedCollection.open("delegation", delegationFrom, options), options);
  }

  /** @param by the giver, as authenticated where the request arrived */
  async make(request: DelegationRequest, by: Decider): Promise<Delegated> {
    checkDecider(by);
    checkMembers(request, { code: "delegation_invalid", what: "The delegation", members: requestMembers });
    const { to: asked, until, reason } = request;
    const now = this.#options.clock.now();
    if (asked === undefined || asked === "" || asked.length > 256 || controlCharacter.test(asked))
      return invalid("`to` is not a name; write the user who should decide.");
    const tenant = by.tenant ?? "default";
    const receiver = await this.#receiver(asked, tenant);
    if ("problem" in receiver) return invalid(receiver.problem);
    const { name: to } = receiver;
    if (isSamePerson(to, by.user)) return invalid(`\`${to}\` is you; delegate to another person.`);
    if (!Number.isSafeInteger(until) || until <= now || until > now + longestMs)
      return invalid("`until` must be a time that is still to come, at most 90 days away.");
    const delegation: Delegation = {
      id: newId("dlg"),
      tenant,
      from: by.user,
      to,
      ...(by.roles !== undefined && { roles: by.roles }),
      ...(by.groups !== undefined && { groups: by.groups }),
      ...(by.signedIn !== undefined && { signedIn: by.signedIn }),
      until,
      ...(reason !== undefined && { reason }),
      at: now,
      via: actorOf(by).via,
    };
    await this.#collection.add(delegation, {
      type: "approval.delegated",
      summary: `${by.user} delegated decisions to ${to} until ${new Date(until).toISOString()}`,
      tenant,
      by: by.user,
      via: delegation.via,
      data: { delegation_id: delegation.id, to, ...(reason !== undefined && { reason }) },
    });
    return { delegated: true, delegation };
  }

  async revoke(id: string, by: Decider): Promise<Delegated> {
    checkDecider(by);
    checkId(id, "delegation");
    const known = this.#collection.get(id);
    const isThere = known !== undefined && known.tenant === (by.tenant ?? known.tenant);
    if (isThere && !mayEnd(known, by)) {
      const message = `The delegation \`${id}\` is ended by \`${known.from}\`, who gave it, by \`${known.to}\`, or by an administrator of accounts.`;
      return { delegated: false, code: "delegation_invalid", message };
    }
    const revoked = isThere ? await this.#collection.change(id, (item) => this.#revoked(item, by)) : undefined;
    if (revoked !== undefined) return { delegated: true, delegation: revoked };
    return { delegated: false, code: "delegation_unknown", message: `There is no delegation \`${id}\`.` };
  }

  /** Newest first. */
  list(where: DelegationFilter = {}): readonly Delegation[] {
    checkMembers(where, { code: "request_invalid", what: "The filter", members: filterMembers, of: "delegations" });
    return this.#collection.items
      .filter(({ tenant }) => where.tenant === undefined || tenant === where.tenant)
      .filter((one) => where.live !== true || this.isLive(one))
      .sort((a, b) => b.at - a.at);
  }

  isLive(delegation: Delegation): boolean {
    if (!isDelegation(delegation))
      throw new RuntimeFault(
        "request_invalid",
        `The delegation is ${shown(delegation)}; it must be one of those that are listed.`,
      );
    const { revoked, until } = delegation;
    return revoked === undefined && until > this.#options.clock.now();
  }

  /** The valid delegations to this person, each with those roles and groups that its giver still has. */
  async countingFor({ user, tenant }: Decider): Promise<readonly Delegation[]> {
    const live = this.#collection.items.filter(
      (one) => isSamePerson(one.to, user) && (tenant === undefined || one.tenant === tenant) && this.isLive(one),
    );
    const found = await Promise.all(live.map((one) => this.#asNow(one)));
    return found.filter((one) => typeof one !== "string");
  }

  /** The delegation behind a grant, or why it does not count. */
  async counting(id: string): Promise<readonly [Delegation] | string> {
    const one = this.#collection.get(id);
    if (one === undefined) return `there is no delegation \`${id}\``;
    if (!this.isLive(one)) return `\`${one.from}\`, in whose place it was given, no longer lets \`${one.to}\` decide`;
    const now = await this.#asNow(one);
    return typeof now === "string" ? now : [now];
  }

  async #asNow(one: Delegation): Promise<Delegation | string> {
    const giver = await giverNow(this.#options.people, one.tenant, { by: one.from, via: one.via });
    return typeof giver === "string" ? giver : { ...one, ...stillHeld(one, giver) };
  }

  /** If accounts exist, the receiver must have one and may decide. The name is written as in the account. */
  async #receiver(asked: string, tenant: string): Promise<{ readonly name: string } | { readonly problem: string }> {
    const { people } = this.#options;
    if (!people.exist) return { name: asked };
    const person = await personOf(people, tenant, asked);
    if (person === undefined)
      return { problem: `There is no account \`${asked}\`; \`to\` must have one, with a role that decides.` };
    if (person.barred === undefined) return person;
    return { problem: `${person.barred}; delegate to a person who may decide.` };
  }

  #revoked(delegation: Delegation, by: Decider) {
    if (delegation.revoked !== undefined) return undefined;
    const { via } = actorOf(by);
    const item = { ...delegation, revoked: { by: by.user, via, at: this.#options.clock.now() } };
    const noted = {
      type: "approval.delegation_revoked",
      summary: `${by.user} ended the delegation of ${delegation.from} to ${delegation.to}`,
      tenant: delegation.tenant,
      by: by.user,
      via,
      data: { delegation_id: delegation.id, from: delegation.from, to: delegation.to },
    };
    return { item, noted };
  }
}

function invalid(message: string): Delegated {
  return { delegated: false, code: "delegation_invalid", message };
}

function delegationFrom(body: Json): Delegation {
  if (isDelegation(body)) return body;
  throw new RuntimeFault("delegation_unreadable", "A delegation in the store is not what Postern writes.");
}

/** Only Postern writes delegations, so its distinguishing fields are enough. */
function isDelegation(body: unknown): body is Delegation {
  return (
    isJsonObject(body) &&
    ["id", "tenant", "from", "to"].every((name) => typeof body[name] === "string") &&
    typeof body["until"] === "number"
  );
}

/** Its giver, its receiver, and an administrator of accounts. */
export function mayEnd({ from, to }: Delegation, { user, via, roles = [] }: Decider): boolean {
  const isTheirs = isSamePerson(user, from) || isSamePerson(user, to);
  return isTheirs || via === operatorToken || roles.includes("admin");
}
