import type { Principal } from "./call.ts";

/** Agent names of callers without an agent's token. No token can be made for these names. */
export const ownAgents = {
  folder: "local-agent",
  operator: "operator-cli",
  session: "console",
  person: "api",
} as const;

const directAgents: ReadonlySet<string> = new Set([ownAgents.operator, ownAgents.session, ownAgents.person]);

/**
 * Whether a person calls directly: in the console, or with a token that stands for the person. A proposal of an agent
 * that a person accepted (`memory:accept`) is not a direct call.
 */
export function isDirectCall({ agent, user, via = "session:" }: Pick<Principal, "agent" | "user" | "via">): boolean {
  return user !== undefined && directAgents.has(agent) && /^(?:session|token):/.test(via);
}
