import { type Principal, RuntimeFault } from "@postern/core";

const pattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** By default each agent has only its own memory. */
export const defaultScopes: readonly string[] = ["agent"];

/** @throws RuntimeFault `options_invalid` */
export function checkedScopes(scopes: readonly string[] = defaultScopes): readonly string[] {
  const odd = scopes.find((scope) => typeof scope !== "string" || !pattern.test(scope));
  if (odd !== undefined || scopes.length === 0 || scopes.length > 64) {
    const what = odd === undefined ? `holds ${scopes.length} names` : `holds ${JSON.stringify(odd)}`;
    throw new RuntimeFault(
      "options_invalid",
      `\`memory.scopes\` ${what}; it must hold 1 to 64 names of at most 64 letters, digits, - _ and dots.`,
    );
  }
  return [...new Set(scopes)];
}

/** Returns why the principal has no such memory, or undefined. */
export function scopeProblem(principal: Principal, scope: string, scopes: readonly string[]): string | undefined {
  if (!scopes.includes(scope)) return `there is no scope \`${scope.slice(0, 64)}\`; there are ${scopes.join(", ")}`;
  if (scope === "user" && principal.user === undefined)
    return "the scope `user` needs a call on a user's behalf; this one has none";
  return undefined;
}

/**
 * Names the place of a scope's memories: `agent` and `user` belong to one agent or user, other scopes to the whole tenant.
 * Two places never have one name.
 */
export function placeOf({ tenant, agent, user = "" }: Principal, scope: string): string {
  const parts = scope === "agent" ? [tenant, scope, agent] : scope === "user" ? [tenant, scope, user] : [tenant, scope];
  return parts.map(encodeURIComponent).join("/");
}
