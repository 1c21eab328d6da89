/**
 * Whether a grant or a delegation still counts: only while its giver could still give it, and while the credential by
 * which it was given is not revoked. A vote is not looked at again: it counts as it was cast.
 *
 * Invariant: a person with an account counts as what they were when they gave it and still are. Without an account (the
 * operator of the data folder, people of a library) they count as what they were then.
 */
import type { Actor } from "../calls/actor.ts";
import type { Given, Said } from "../calls/records.ts";
import type { Audience } from "../stores/audience.ts";
import { type Bench, demandOf, hindrance } from "./admission.ts";
import type { Decider } from "./decision.ts";
import type { Delegation } from "./delegation.ts";
import type { Delegations } from "./delegations.ts";
import type { Grant } from "./grant.ts";
import { type People, type Person, personOf } from "./person.ts";
import type { Routing } from "./routing.ts";

export interface GiversHouse {
  readonly routing: Routing;
  readonly delegations: Delegations;
  readonly people: People;
  /** Whether people sign in here: the operator's token is nobody's sign-in then. */
  readonly accountsExist: () => boolean;
}

type Held = Pick<Given, "roles" | "groups">;

export class Givers {
  readonly #house: GiversHouse;

  constructor(house: GiversHouse) {
    this.#house = house;
  }

  /** @param lent to the decider: what `lent` answered */
  bench(approval: Audience, lent: readonly Delegation[], inProcess = false): Bench {
    const { accountsExist, routing } = this.#house;
    return { inProcess, lent, accountsExist: accountsExist(), present: routing.demand(approval) };
  }

  /** Why this grant answers no such call as things stand; undefined: its giver could say yes to it now. */
  async silence(grant: Grant, call: Audience): Promise<string | undefined> {
    const routed = this.#house.routing.demand(call);
    if (!routed.remembers) return `the route \`${routed.rule}\` lets no yes be remembered now`;
    const lent = this.#house.delegations.behind(grant, call.principal.tenant);
    if (lent !== undefined && !this.#house.delegations.isLive(lent))
      return `\`${lent.from}\`, in whose place it was given, lends \`${lent.to}\` no word any more`;
    return this.#problem(grant, { ...call, routed });
  }

  /** Who gave this person their word, with what of it they still have. */
  async lent(to: Decider): Promise<readonly Delegation[]> {
    const given = await Promise.all(this.#house.delegations.to(to).map((one) => this.#asNow(one)));
    return given.filter((one) => typeof one !== "string");
  }

  /** Why this grant does not count for such a call now. */
  async #problem(grant: Grant, asked: Audience): Promise<string | undefined> {
    const { by: user, via, given } = grant;
    const giver = await this.#giver(asked.principal.tenant, grant);
    if (typeof giver === "string") return giver;
    const lent = await this.#lentFor(grant, asked);
    if (typeof lent === "string") return lent;
    const bench = this.bench(asked, lent);
    if (demandOf(asked, bench).typedConfirmation && given?.typed !== true)
      return `the route \`${bench.present.rule}\` wants the tool's name typed now, and it was not`;
    const { roles, groups } = given === undefined ? (giver ?? {}) : stillHeld(given, giver);
    const by: Decider = {
      ...{ user, via, signedIn: given?.signedIn === true },
      ...(roles !== undefined && { roles }),
      ...(groups !== undefined && { groups }),
    };
    const found = hindrance(asked, { by }, bench);
    return "code" in found ? found.message : undefined;
  }

  /** What was lent to who said this in another's place, and not taken back. That its time is over takes nothing back. */
  async #lentFor(said: Said, { principal: { tenant } }: Audience): Promise<readonly Delegation[] | string> {
    if (said.onBehalfOf === undefined) return [];
    const one = this.#house.delegations.behind(said, tenant);
    if (one === undefined || one.revoked !== undefined)
      return `\`${said.onBehalfOf}\` took back the word that \`${said.by}\` gave in their place`;
    const now = await this.#asNow(one);
    return typeof now === "string" ? now : [now];
  }

  /** A sentence: why it is worth nothing. */
  async #asNow(one: Delegation): Promise<Delegation | string> {
    const giver = await this.#giver(one.tenant, { by: one.from, via: one.via });
    return typeof giver === "string" ? giver : { ...one, ...stillHeld(one, giver) };
  }

  /** As they are now; undefined: nobody known here. A sentence: why no word of theirs by that credential counts. */
  async #giver(tenant: string, { by, via }: Pick<Actor, "by" | "via">): Promise<Person | undefined | string> {
    const person = await personOf(this.#house.people, tenant, by);
    if (person?.barred !== undefined) return person.barred;
    if (person === undefined && via.startsWith("channel:") && this.#house.accountsExist())
      return `\`${by}\` has no account, and a channel speaks for those who have one`;
    return (await this.#house.people.isRevoked(via)) ? `\`${via}\`, by which it was given, was revoked` : person;
  }
}

/** Of the roles and groups with which a word was said or lent, those its giver still has: what they became since was never theirs to say it with. */
function stillHeld({ roles = [], groups = [] }: Held, now: Person | undefined): Held {
  return now === undefined
    ? { roles, groups }
    : {
        roles: roles.filter((one) => now.roles.includes(one)),
        groups: groups.filter((one) => now.groups.includes(one)),
      };
}
