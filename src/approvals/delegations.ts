import { checkId } from "../calls/checked-id.ts";
import { checkMembers } from "../calls/checked-members.ts";
import { RuntimeFault } from "../calls/fault.ts";
import { newId } from "../calls/ids.ts";
import { isJsonObject, type Json } from "../calls/json.ts";
import type { Said } from "../calls/records.ts";
import { isSamePerson } from "../calls/same-person.ts";
import { shown } from "../calls/shown.ts";
import { checkDelegationFilter } from "./checked-filters.ts";
import { actorOf, checkDecider, type Decider, operatorToken } from "./decision.ts";
import type { Delegation, DelegationFilter, DelegationRequest } from "./delegation.ts";
import { type People, personOf } from "./person.ts";
import { Shelf, type ShelfOptions } from "./shelf.ts";

export interface DelegationsOptions extends ShelfOptions {
  readonly people: People;
}

export type Delegated =
  | { readonly delegated: true; readonly delegation: Delegation }
  | { readonly delegated: false; readonly code: "delegation_invalid" | "delegation_unknown"; readonly message: string };

const asTold = { to: "a text", until: "a number", reason: "a text" } as const;
const longestMs = 90 * 86_400_000;
const controlCharacter = /\p{Cc}/u;

/** Who decides in whose place until when. Only a person gives their own word away, and only their own. */
export class Delegations {
  readonly #shelf: Shelf<Delegation>;
  readonly #options: DelegationsOptions;

  private constructor(shelf: Shelf<Delegation>, options: DelegationsOptions) {
    this.#shelf = shelf;
    this.#options = options;
  }

  /** @throws RuntimeFault `delegation_unreadable` */
  static async open(options: DelegationsOptions): Promise<Delegations> {
    return new Delegations(await Shelf.open("delegation", delegationFrom, options), options);
  }

  /** @param by who gives: authenticated by the door */
  async make(request: DelegationRequest, by: Decider): Promise<Delegated> {
    checkDecider(by);
    checkMembers(request, { code: "delegation_invalid", what: "The delegation", members: asTold });
    const { to: asked, until, reason } = request;
    const now = this.#options.clock.now();
    if (asked === undefined || asked === "" || asked.length > 256 || controlCharacter.test(asked))
      return invalid("`to` names nobody; write the user who shall decide.");
    const tenant = by.tenant ?? "default";
    const receiver = await this.#receiver(asked, tenant);
    if ("problem" in receiver) return invalid(receiver.problem);
    const { name: to } = receiver;
    if (isSamePerson(to, by.user)) return invalid(`\`${to}\` is you; delegate to somebody else.`);
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
    await this.#shelf.add(delegation, {
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
    const known = this.#shelf.get(id);
    const isThere = known !== undefined && known.tenant === (by.tenant ?? known.tenant);
    if (isThere && !mayEnd(known, by)) {
      const message = `The delegation \`${id}\` is ended by \`${known.from}\`, who gave it, by \`${known.to}\`, or by who administers accounts; votes that were given by it would be lost.`;
      return { delegated: false, code: "delegation_invalid", message };
    }
    const revoked = isThere ? await this.#shelf.change(id, (item) => this.#revoked(item, by)) : undefined;
    if (revoked !== undefined) return { delegated: true, delegation: revoked };
    return { delegated: false, code: "delegation_unknown", message: `There is no delegation \`${id}\`.` };
  }

  /** New to old. */
  list(where: DelegationFilter = {}): readonly Delegation[] {
    checkDelegationFilter(where);
    return this.#shelf.items
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

  /** Who gave this person their word. */
  to({ user, tenant }: Decider): readonly Delegation[] {
    return this.#shelf.items.filter(
      (one) => isSamePerson(one.to, user) && (tenant === undefined || one.tenant === tenant) && this.isLive(one),
    );
  }

  /** The delegation by which something was said in another's place; of what did not keep it, one that is left. */
  behind({ delegation, by, onBehalfOf }: Said, tenant: string): Delegation | undefined {
    if (delegation !== undefined) return this.#shelf.get(delegation);
    const [found] = this.#shelf.items
      .filter((one) => one.tenant === tenant && one.revoked === undefined)
      .filter((one) => isSamePerson(one.to, by) && isSamePerson(one.from, onBehalfOf))
      .sort((a, b) => b.until - a.until);
    return found;
  }

  /** Where people have accounts: somebody who has one, and may decide. By the account's own spelling. */
  async #receiver(asked: string, tenant: string): Promise<{ readonly name: string } | { readonly problem: string }> {
    const { people } = this.#options;
    if (!people.exist) return { name: asked };
    const person = await personOf(people, tenant, asked);
    if (person === undefined)
      return { problem: `There is no account \`${asked}\`; \`to\` is somebody who has one, with a role that decides.` };
    if (person.barred === undefined) return person;
    return { problem: `${person.barred}; delegate to somebody who may decide.` };
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

/** Its giver, its receiver, and who administers accounts: votes that were given by it end with it. */
export function mayEnd({ from, to }: Delegation, { user, via, roles = [] }: Decider): boolean {
  const isTheirs = isSamePerson(user, from) || isSamePerson(user, to);
  return isTheirs || via === operatorToken || roles.includes("admin");
}
