/**
 * What became of who gave a word: a remembered yes and a delegation count while their giver could still decide.
 *
 * Invariant: who has an account is what that account is now; nobody else is known here (the data folder's operator, a
 * library's own people), and they are what they were when they gave it.
 */
import type { Audience } from "../stores/audience.ts";
import { hindrance, isAskedOf } from "./admission.ts";
import type { Decider } from "./decision.ts";
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

/** Whose name no account has: whoever holds the data folder. */
const folderOperator = "operator";

export class Givers {
  readonly #house: GiversHouse;

  constructor(house: GiversHouse) {
    this.#house = house;
  }

  get accountsExist(): boolean {
    return this.#house.accountsExist();
  }

  /** Why this grant answers no such call as things stand; undefined: its giver could say yes to it now. */
  async silence(grant: Grant, call: Audience): Promise<string | undefined> {
    const { routing, delegations } = this.#house;
    const { by: user, via, given } = grant;
    const person = await this.#person(call.principal.tenant, user);
    if (person?.barred !== undefined) return person.barred;
    const present = routing.demand(call);
    if (!present.remembers) return `the route \`${present.rule}\` lets no yes be remembered now`;
    if (present.typedConfirmation && given?.typed !== true)
      return `the route \`${present.rule}\` wants the tool's name typed now, and it was not`;
    const { roles, groups } = person ?? given ?? {};
    const by: Decider = {
      ...{ user, via, signedIn: given?.signedIn === true && !(user === folderOperator && this.accountsExist) },
      ...(roles !== undefined && { roles }),
      ...(groups !== undefined && { groups }),
    };
    const found = hindrance({ ...call, routed: present }, by, {
      present,
      accountsExist: this.accountsExist,
      delegators: (one) => delegations.to(one),
    });
    if ("code" in found) return found.message;
    return found.onBehalfOf === undefined ? undefined : this.silenced(call, found.onBehalfOf);
  }

  /** Why nobody decides this in that person's place any more; undefined: it may be. */
  async silenced(call: Audience, user: string): Promise<string | undefined> {
    const person = await this.#person(call.principal.tenant, user);
    if (person === undefined) return undefined;
    const isAsked =
      person.barred === undefined && isAskedOf(call, this.#house.routing.demand(call), { ...person, user });
    return isAsked ? undefined : `\`${user}\`, in whose place this is decided, may not decide it any more.`;
  }

  #person(tenant: string, user: string): Promise<Person | undefined> {
    return personOf(this.#house.people, tenant, user);
  }
}
