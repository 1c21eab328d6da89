/** Names and forms of names that have a meaning of their own. */
import type { Principal } from "./call.ts";

/** Agent names of callers without an agent's token. No token can be made for these names. */
export const ownAgents = {
  folder: "local-agent",
  operator: "operator-cli",
  session: "console",
  person: "api",
  /** Of a client whose user signed in at an authorization server, when no claim names an agent. */
  signedIn: "mcp-client",
} as const;

const directAgents: ReadonlySet<string> = new Set([ownAgents.operator, ownAgents.session, ownAgents.person]);

/**
 * Whether a person calls directly: in the console, or with a token that stands for the person. A proposal of an agent
 * that a person accepted (`memory:accept`) is not a direct call.
 */
export function isDirectCall({ agent, user, via = "session:" }: Pick<Principal, "agent" | "user" | "via">): boolean {
  return user !== undefined && directAgents.has(agent) && /^(?:session|token):/.test(via);
}

export const defaultPrincipal: Principal = { tenant: "default", agent: "default" };

/** The form in which accounts keep a person's name. Names that differ only in case or Unicode form are one name. */
export function normalizedName(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/** Whether two names are the same person's. A person without an account is compared in the same way. */
export function isSamePerson(one: string, other: string | undefined): boolean {
  return other !== undefined && normalizedName(one) === normalizedName(other);
}

/** The characters of connectors and keys. A name cannot be an option of a command (`-x`) or lead up a tree (`..`). */
const name = String.raw`(?!-)(?!\.+(?![\w.\-]))[\w.\-]{1,128}`;

/** Matches one connector or key. */
export const secretNamePattern: RegExp = new RegExp(`^${name}$`);

/** Matches `connector/key`; for use in larger patterns. */
export const secretPathPattern: string = `(${name})/(${name})`;

/** `{"$artifact": digest}` names an artifact in arguments. */
export const referenceKey = "$artifact";

/** The tool by which an agent reads an artifact piece by piece. */
export const readArtifactName = "read_artifact";
