import type { Decision, Facts, ToolFacts } from "./policy.ts";

interface AskedFor extends Pick<Facts, "autonomy" | "maxRiskUnapproved" | "scopes"> {
  readonly tenant: string;
  readonly agent: string;
  readonly user: string | undefined;
}

/**
 * The last decision about each tool, for callers of equal identity, scopes, level and threshold.
 *
 * Invariant: it equals the decision that would be made now. So only a decision is kept that nothing else shaped, and only
 * for a tool that cannot change.
 */
export class LastDecisions {
  readonly #last = new WeakMap<ToolFacts, AskedFor & { readonly decision: Decision }>();

  find(facts: Facts): Decision | undefined {
    const kept = this.#last.get(facts.tool);
    return kept !== undefined && isPlain(facts) && isFor(kept, facts) ? kept.decision : undefined;
  }

  keep(facts: Facts, decision: Decision): void {
    const { tool, autonomy, maxRiskUnapproved } = facts;
    if (!isPlain(facts) || ![tool, tool.scopes, tool.permissions].every(Object.isFrozen)) return;
    const { tenant, agent, user } = facts.principal;
    const scopes = [...facts.scopes];
    this.#last.set(tool, { tenant, agent, user, scopes, autonomy, maxRiskUnapproved, decision });
  }
}

/** Neither the tool, nor a guardrail, a skill or an artifact says something about this call. */
function isPlain({ suggestion, findings = [], skills, unread, scopes }: Facts): boolean {
  const isSilent = suggestion === undefined && findings.length === 0 && skills === undefined && unread === undefined;
  return isSilent && Array.isArray(scopes);
}

function isFor(kept: AskedFor, { principal, scopes, autonomy, maxRiskUnapproved }: Facts): boolean {
  return (
    kept.tenant === principal.tenant &&
    kept.agent === principal.agent &&
    kept.user === principal.user &&
    kept.autonomy === autonomy &&
    kept.maxRiskUnapproved === maxRiskUnapproved &&
    kept.scopes.length === scopes.length &&
    kept.scopes.every((scope, i) => scope === scopes[i])
  );
}
