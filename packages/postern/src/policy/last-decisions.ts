import type { Decision, Facts, ToolFacts } from "./policy.ts";

interface AskedFor extends Pick<Facts, "autonomy" | "maxRiskUnapproved" | "scopes"> {
  /** Every member of the principal, because a rule may ask for any of them. */
  readonly principal: readonly (readonly [name: string, value: unknown])[];
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
    const principal = Object.entries(facts.principal);
    const values = principal.map(([, value]) => value);
    if (!isPlain(facts) || ![tool, tool.scopes, tool.permissions, ...values].every(Object.isFrozen)) return;
    this.#last.set(tool, { principal, scopes: [...facts.scopes], autonomy, maxRiskUnapproved, decision });
  }
}

/** Neither the tool, nor a guardrail, a skill or an artifact says something about this call. */
function isPlain({ suggestion, findings = [], skills, unread, scopes }: Facts): boolean {
  const isSilent = suggestion === undefined && findings.length === 0 && skills === undefined && unread === undefined;
  return isSilent && Array.isArray(scopes);
}

function isFor(kept: AskedFor, { principal, scopes, autonomy, maxRiskUnapproved }: Facts): boolean {
  return (
    kept.principal.length === Object.keys(principal).length &&
    kept.principal.every(([name, value]) => Reflect.get(principal, name) === value) &&
    kept.autonomy === autonomy &&
    kept.maxRiskUnapproved === maxRiskUnapproved &&
    kept.scopes.length === scopes.length &&
    kept.scopes.every((scope, i) => scope === scopes[i])
  );
}
