/** Who somebody is by their account, as far as a decision must know it. */
import { permissionsOf, type Role } from "../accounts/roles.ts";
import type { Actor } from "../calls/actor.ts";
import { RuntimeFault } from "../calls/fault.ts";

/** The accounts, as far as this must know them. */
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
  /** Whether that credential was taken back. */
  isRevoked(via: string): Promise<boolean>;
}

export interface Person {
  /** As the account spells it. */
  readonly name: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** Why they decide nothing at all. */
  readonly barred?: string;
}

/** Undefined: there are no accounts, or that tenant has none of this name. */
export async function personOf(people: People, tenant: string, user: string): Promise<Person | undefined> {
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
