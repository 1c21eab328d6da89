/** Who a token of the authorization server speaks for. */
import { isJsonObject, type Json, type JsonObject, ownAgents, ownTenant, type Principal, shown } from "@postern/core";
import { principalNamePattern } from "../call/authority.ts";
import { isTaken } from "./agent-names.ts";

/** The claim of each part of an identity. A part without a claim has its default. */
export interface ClaimNames {
  readonly tenant?: string;
  readonly user: string;
  readonly agent?: string;
  readonly groups?: string;
  readonly scopes: string;
}

export interface TokenIdentity {
  readonly principal: Principal;
  readonly scopes: readonly string[];
}

/** They are stored with each call. */
const mostGroups = 64;
const mostScopes = 200;

/** Returns a sentence that names the claim, when a claim is missing or is not what it must be. */
export function identityFrom(claims: JsonObject, names: ClaimNames): TokenIdentity | string {
  const problems: string[] = [];
  const name = (part: "tenant" | "user" | "agent", claim: string): string => {
    const value = claimOf(claims, claim);
    if (typeof value === "string" && principalNamePattern.test(value)) return value;
    problems.push(wrong(claim, value, `a text of 1 to 200 printable characters, because it is the ${part}`));
    return "";
  };
  const words = (part: "groups" | "scopes", claim: string, most: number): readonly string[] => {
    const value = claimOf(claims, claim) ?? [];
    const all = typeof value === "string" ? (part === "scopes" ? value.split(" ").filter(Boolean) : [value]) : value;
    if (Array.isArray(all) && all.length <= most && all.every(isName)) return [...new Set(all)];
    problems.push(wrong(claim, value, `a text or a list of at most ${most} texts, because it holds the ${part}`));
    return [];
  };
  const tenant = names.tenant === undefined ? ownTenant : name("tenant", names.tenant);
  const user = name("user", names.user);
  const named = names.agent !== undefined && claimOf(claims, names.agent) !== undefined ? names.agent : undefined;
  const agent = named === undefined ? ownAgents.signedIn : name("agent", named);
  if (named !== undefined && agent !== ownAgents.signedIn && isTaken(agent))
    problems.push(wrong(named, agent, "another name, because Postern uses this one itself"));
  const groups = names.groups === undefined ? [] : words("groups", names.groups, mostGroups);
  const scopes = words("scopes", names.scopes, mostScopes);
  if (scopes.includes("*"))
    problems.push(wrong(names.scopes, "*", "the name of each scope, because `*` would grant every one"));
  const [problem] = problems;
  if (problem !== undefined) return problem;
  const via = `oauth:${clientOf(claims)}`;
  return { principal: { tenant, agent, user, via, ...(groups.length > 0 && { groups }) }, scopes };
}

/** RFC 9068 names the client in `client_id`; OpenID providers name it in `azp`. */
function clientOf(claims: JsonObject): string {
  return [claims["client_id"], claims["azp"]].find(isName) ?? "unknown";
}

/** The claim of this very name, else the member that `a.b` leads to. */
function claimOf(claims: JsonObject, name: string): Json | undefined {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split(".")
    .reduce<Json | undefined>(
      (at, step) => (at !== undefined && isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined),
      claims,
    );
}

function isName(value: unknown): value is string {
  return typeof value === "string" && principalNamePattern.test(value);
}

function wrong(claim: string, value: Json | undefined, wanted: string): string {
  return `The claim \`${claim}\` of this token is ${shown(value)}; it must be ${wanted}. The authorization server sets it, and \`oauth.claims\` of Postern's configuration names it.`;
}
