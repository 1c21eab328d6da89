/**
 * What a token may by who made it. A name is an authority: grants, runs, approvals and rules go by `tenant, agent, user`.
 *
 * Invariant: nobody but an admin makes a token for an agent or a user that is not their own, and no token has more than
 * its maker has now.
 */
import { ownAgents } from "../core/own-agents.ts";
import type { Account, ApiToken } from "./accounts.ts";
import { type Permission, permissionsOf } from "./roles.ts";

const taken: ReadonlySet<string> = new Set(Object.values(ownAgents));

/** Account names hold no `/`: what stands before the first one is whose agent it is. */
export function agentNameFor(asked: string, maker: Pick<Account, "name">, may: ReadonlySet<Permission>): string {
  return namesFreely(may) || isOwnAgent(asked, maker) ? asked : `${maker.name}/${asked}`;
}

export function isTaken(agent: string): boolean {
  return taken.has(agent);
}

/** Whose agents one names: any of the tenant's, or one's own. */
export function namesFreely(may: ReadonlySet<Permission>): boolean {
  return may.has("accounts:admin");
}

function isOwnAgent(agent: string, { name }: Pick<Account, "name">): boolean {
  return agent.startsWith(`${name}/`);
}

export type MakerState = { readonly permissions: ReadonlySet<Permission> } | { readonly dead: string };

/** What a token is worth by what its maker is now. @param maker undefined: who made it was here only until there were accounts */
export function standingOf(token: ApiToken, maker: Account | undefined): MakerState {
  const { owner, agent, user } = token;
  if (maker === undefined)
    return { dead: `\`${owner}\` made it in a session by the folder's link, which ended with the first account` };
  if (maker.disabled) return { dead: `\`${owner}\`, who made it, is disabled` };
  const may = permissionsOf(maker.roles, maker.tenant);
  if (!namesFreely(may) && agent !== undefined && !isOwnAgent(agent, maker))
    return { dead: `\`${owner}\`, who made it, is no admin any more, and it calls as the agent \`${agent}\`` };
  if (!namesFreely(may) && user !== undefined && user !== owner)
    return { dead: `\`${owner}\`, who made it, is no admin any more, and it calls for \`${user}\`` };
  return { permissions: new Set(token.permissions.filter((one) => may.has(one))) };
}
