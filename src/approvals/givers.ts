/**
 * What became of who gave a word: a remembered yes, a delegation and a vote on what is still open count while their
 * giver could still decide, and while nobody took the credential back by which they were given.
 *
 * Invariant: who has an account is what that account is now; nobody else is known here (the data folder's operator, a
 * library's own people), and they are what they were when they gave it.
 */
import { builtInName } from "../accounts/roles.ts";
import type { Actor } from "../calls/actor.ts";
import type { Vote } from "../calls/records.ts";
import type { Audience } from "../stores/audience.ts";
import { type Bench, demandOf, hindrance, noPerson } from "./admission.ts";
import type { Decider, Lapsed } from "./decision.ts";
import type { Delegation } from "./delegation.ts";
import type { Delegations } from "./delegations.ts";
import type { Grant } from "./grant.ts";
import { type People, type Person, personOf } from "./person.ts";
import type { Routing } from "./routing.ts";

type Word = Pick<Vote, "by" | "via" | "onBehalfOf">;

export interface GiversHouse {
  readonly routing: Routing;
  readonly delegations: Delegations;
  readonly people: People;
  /** Whether people sign in here: the operator's token is nobody's sign-in then. */
  readonly accountsExist: () => boolean;
}

export class Givers {
  readonly #house: GiversHouse;

  constructor(house: GiversHouse) {
    this.#house = house;
  }

  get accountsExist(): boolean {
    return this.#house.accountsExist();
  }

  /** @param lent to the decider: what `lent` answered */
  bench(approval: Audience, lent: readonly Delegation[], inProcess = false): Bench {
    return { inProcess, lent, accountsExist: this.accountsExist, present: this.#house.routing.demand(approval) };
  }

  /** Why this grant answers no such call as things stand; undefined: its giver could say yes to it now. */
  async silence(grant: Grant, call: Audience): Promise<string | undefined> {
    const { by: user, via, given } = grant;
    const giver = await this.#giver(call.principal.tenant, grant);
    if (typeof giver === "string") return giver;
    const { present } = this.bench(call, []);
    if (!present.remembers) return `the route \`${present.rule}\` lets no yes be remembered now`;
    if (present.typedConfirmation && given?.typed !== true)
      return `the route \`${present.rule}\` wants the tool's name typed now, and it was not`;
    const { roles, groups } = giver ?? given ?? {};
    const by: Decider = {
      ...{ user, via, signedIn: given?.signedIn === true && !(user === builtInName && this.accountsExist) },
      ...(roles !== undefined && { roles }),
      ...(groups !== undefined && { groups }),
    };
    const found = hindrance({ ...call, routed: present }, by, this.bench(call, await this.lent(by)));
    return "code" in found ? found.message : undefined;
  }

  /** Who gave this person their word, with what of it they still have. */
  async lent(to: Decider): Promise<readonly Delegation[]> {
    const given = this.#house.delegations.to(to).map(async (one) => {
      const giver = await this.#giver(one.tenant, { by: one.from, via: one.via });
      if (typeof giver === "string") return [];
      if (giver === undefined) return [one];
      return [{ ...one, roles: both(one.roles, giver.roles), groups: both(one.groups, giver.groups) }];
    });
    return (await Promise.all(given)).flat();
  }

  /** Words on a request that count no more. */
  async lapsed<Said extends Word>(
    approval: Audience & { readonly votes?: readonly Said[] },
  ): Promise<readonly Lapsed<Said>[]> {
    const votes: readonly Said[] = approval.votes ?? [];
    const said = votes.map(async (vote) => {
      const why = await this.#lapse(approval, vote);
      return why === undefined ? [] : [{ vote, why }];
    });
    return (await Promise.all(said)).flat();
  }

  async #lapse(approval: Audience, { by, via, onBehalfOf }: Word): Promise<string | undefined> {
    const { tenant } = approval.principal;
    const bench = this.bench(approval, []);
    const nobody = noPerson(approval, { user: by, via }, demandOf(approval, bench), bench);
    if (nobody !== undefined) return nobody.message;
    const giver = await this.#giver(tenant, { by, via });
    if (typeof giver === "string") return giver;
    return onBehalfOf === undefined ? undefined : (await this.#person(tenant, onBehalfOf))?.barred;
  }

  /** As they are now; undefined: nobody known here. A sentence: why no word of theirs by that credential counts. */
  async #giver(tenant: string, { by, via }: Pick<Actor, "by" | "via">): Promise<Person | undefined | string> {
    const person = await this.#person(tenant, by);
    if (person?.barred !== undefined) return person.barred;
    return (await this.#house.people.isRevoked(via)) ? `\`${via}\`, by which it was given, was revoked` : person;
  }

  #person(tenant: string, user: string): Promise<Person | undefined> {
    return personOf(this.#house.people, tenant, user);
  }
}

function both(then: readonly string[] = [], now: readonly string[]): readonly string[] {
  return now.filter((one) => then.includes(one));
}
