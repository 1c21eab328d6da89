import type { Principal } from "./call.ts";

/** Who calls without a token made for an agent: no such token takes their names. */
export const ownAgents = {
  folder: "local-agent",
  operator: "operator-cli",
  session: "console",
  person: "api",
} as const;

const ownHands: ReadonlySet<string> = new Set([ownAgents.operator, ownAgents.session, ownAgents.person]);

/**
 * Whether a person calls themself, and no agent for them: in the console, or with a token that stands for the person.
 * What an agent proposed and a person took up (`memory:accept`) comes by neither.
 */
export function isByHand({ agent, user, via = "session:" }: Pick<Principal, "agent" | "user" | "via">): boolean {
  return user !== undefined && ownHands.has(agent) && /^(?:session|token):/.test(via);
}
