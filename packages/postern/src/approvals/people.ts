/** The accounts, as far as decisions need them. */

import { type Actor, permissionsOf, type Role, RuntimeFault } from "@postern/core";

export interface People {
  readonly exist: boolean;
  get(
    name: string,
    actor: Actor,
  ): Promise<{
    readonly name: string;
    readonly tenant: string;
    readonly roles: readonly Role[];
    readonly groups: readonly string[];
    readonly disabled: boolean;
  }>;
  /** Whether this credential was revoked. */
  isRevoked(via: string): Promise<boolean>;
}

interface Person {
  /** As the account has it. */
  readonly name: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** Why they may decide nothing. */
  readonly barred?: string;
}

interface Memberships {
  readonly roles?: readonly string[] | undefined;
  readonly groups?: readonly string[] | undefined;
}

/** Returns undefined if there are no accounts, or if the tenant has none of this name. */
async function personOf(people: People, tenant: string, user: string): Promise<Person | undefined> {
  if (!people.exist) return undefined;
  const account = await people.get(user, { by: "postern", via: "postern", tenant }).catch((error: unknown) => {
    if (error instanceof RuntimeFault && error.code === "account_unknown") return undefined;
    throw error;
  });
  if (account === undefined) return undefined;
  const { name, roles, groups, disabled } = account;
  const may = permissionsOf(roles, account.tenant).has("approvals:decide");
  const barred = disabled ? `\`${name}\` is disabled` : may ? undefined : `\`${name}\` has no role that decides`;
  return { name, roles, groups, ...(barred !== undefined && { barred }) };
}

/**
 * The approver behind a grant or a vote now. Returns undefined for a person without an account, and a sentence if
 * nothing counts that they approved with this credential.
 */
export async function approverNow(
  people: People,
  tenant: string,
  { by, via }: Pick<Actor, "by" | "via">,
): Promise<Person | string | undefined> {
  const person = await personOf(people, tenant, by);
  if (person?.barred !== undefined) return person.barred;
  return (await people.isRevoked(via)) ? `\`${via}\`, by which it was given, was revoked` : person;
}

/** Those recorded roles and groups that the person still has. A person without an account keeps all of them. */
export function stillHeld(
  { roles = [], groups = [] }: Memberships,
  now: Person | undefined,
): { roles: readonly string[]; groups: readonly string[] } {
  if (now === undefined) return { roles, groups };
  return {
    roles: roles.filter((role) => now.roles.includes(role)),
    groups: groups.filter((group) => now.groups.includes(group)),
  };
}
