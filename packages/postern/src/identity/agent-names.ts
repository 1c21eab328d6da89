/** Which agent a token may name. */
import { ownAgents, type Permission } from "@postern/core";
import type { Account } from "./accounts.ts";

const reservedNames: ReadonlySet<string> = new Set(Object.values(ownAgents));

/** Account names contain no `/`, so the part before the first one is the owner of the agent. */
export function agentNameFor(asked: string, maker: Pick<Account, "name">, may: ReadonlySet<Permission>): string {
  return mayNameAnyAgent(may) || isOwnAgent(asked, maker) ? asked : `${maker.name}/${asked}`;
}

export function isTaken(agent: string): boolean {
  return reservedNames.has(agent);
}

/** Whether the maker may name any agent of the tenant, or only their own. */
export function mayNameAnyAgent(may: ReadonlySet<Permission>): boolean {
  return may.has("accounts:admin");
}

export function isOwnAgent(agent: string, { name }: Pick<Account, "name">): boolean {
  return agent.startsWith(`${name}/`);
}
