import { messageOf, type Principal, stricter } from "@postern/core";
import { LastDecisions } from "./last-decisions.ts";
import { DecisionDraft, type DecisionTerms, layers, type PolicyTerms } from "./layers.ts";
import { type CompiledOptions, compileOptions } from "./options.ts";
import type { Decision, EffectivePolicy, EffectiveQuery, Facts, Policy, Reads, ToolFacts } from "./policy.ts";
import { effectivePolicy } from "./report/effective.ts";
import { readsOf } from "./rules/rules.ts";
import { ToolRules } from "./rules/tool-rules.ts";
import type { PolicyOptions } from "./schema.ts";

export type { PolicyOptions } from "./schema.ts";

/**
 * Reads the options once, so later changes to them have no effect.
 *
 * @throws RuntimeFault `policy_invalid`, naming what is wrong
 */
export function createPolicy(options: PolicyOptions = {}): Policy {
  return new LayeredPolicy(options);
}

class LayeredPolicy implements Policy {
  readonly version: string;
  readonly reads: Reads | undefined;
  readonly #options: CompiledOptions;
  readonly #terms: PolicyTerms;
  readonly #observing: boolean;
  /** Adjusters or the pack read the past too. */
  readonly #readsBack: boolean;
  /** Undefined if the pack or a layer from outside examines every call. */
  readonly #last: LastDecisions | undefined;

  constructor(options: PolicyOptions) {
    const read = compileOptions(options);
    this.#options = read;
    this.#terms = read.terms;
    this.#observing = read.mode === "observe";
    this.version = read.version;
    const { adjusters, also, pack } = read.terms;
    const examinesAll = also.length > 0 || pack.blocks.length > 0 || pack.isQuiet !== undefined;
    this.#last = examinesAll ? undefined : new LastDecisions();
    this.reads = readsOf([read.ruleSet, ...pack.reads, adjusters]);
    this.#readsBack = pack.reads.length > 0 || adjusters.reads !== undefined;
  }

  decide(facts: Facts): Decision {
    try {
      return this.#decide(facts);
    } catch (error) {
      return this.#denyFor(error, facts);
    }
  }

  offers(principal: Principal, tool: ToolFacts): boolean {
    try {
      return this.#rulesOf(tool, principal).offers(this.#observes(tool));
    } catch {
      return false; // the reason is given when the tool is called
    }
  }

  readsFor(tool: ToolFacts): Reads | undefined {
    const reads = readsOf(this.#options.ruleSet.rulesFor(tool));
    if (!this.#readsBack) return reads;
    const { adjusters, pack } = this.#terms;
    return readsOf([{ reads }, { reads: adjusters.readsFor(tool) }, ...pack.readsFor(tool)]);
  }

  effective(tools: readonly ToolFacts[], query: EffectiveQuery): EffectivePolicy {
    return effectivePolicy(tools, query, {
      version: this.version,
      terms: this.#terms,
      rulesOf: (tool) => this.#rulesOf(tool, query.principal),
      decide: (facts, { hasConditions }, permissionAt) =>
        this.#decideBy(facts, { ...this.#terms, also: [], hasConditions, permissionAt }),
    });
  }

  #decide(facts: Facts): Decision {
    const kept = this.#last?.find(facts);
    if (kept !== undefined && !this.#isRaised(facts)) return kept;
    const rules = this.#rulesOf(facts.tool, facts.principal);
    const { hasConditions } = rules;
    const decision = this.#decideBy(facts, { ...this.#terms, hasConditions, permissionAt: rules.permission(facts) });
    if (kept === undefined && !hasConditions && !this.#isRaised(facts)) this.#last?.keep(facts, decision);
    return decision;
  }

  #isRaised(facts: Facts): boolean {
    return this.#terms.adjusters.ofCall.some((raise) => raise(facts) !== undefined);
  }

  #rulesOf(tool: ToolFacts, principal: Principal): ToolRules {
    return new ToolRules(this.#options, tool, principal);
  }

  #decideBy(facts: Facts, terms: DecisionTerms): Decision {
    const observing = this.#observes(facts.tool);
    const draft = new DecisionDraft();
    for (const layer of layers) {
      layer(facts, draft, terms);
      if (observing ? draft.keptDenied : draft.denied) break;
    }
    const decided = draft.denied ? "DENY" : draft.verdict;
    const verdict = observing ? observed(draft, decided, terms) : decided;
    const { risk, missingScope: scope } = draft;
    return Object.freeze({
      verdict,
      risk,
      reasons: Object.freeze(draft.reasons.map((reason) => Object.freeze(reason))),
      policyVersion: this.version,
      ...(facts.tool.server !== undefined && { connector: facts.tool.server }),
      ...(scope !== undefined && { missingScope: scope }),
      ...(verdict === "BLOCK" && draft.blockedBy !== undefined && { blockedBy: draft.blockedBy }),
      ...(observing && { observed: decided }),
    });
  }

  /** The operator observes all tools, or those of this tool's server. */
  #observes(tool: ToolFacts): boolean {
    return this.#observing || tool.observe === true;
  }

  /** @param facts of a broken question: they may be anything */
  #denyFor(error: unknown, facts: Partial<Facts> | null | undefined): Decision {
    const reasons = Object.freeze([{ rule: `policy error: ${messageOf(error)}`, effect: "DENY" as const }]);
    const decision = { verdict: "DENY", risk: "critical", reasons, policyVersion: this.version } as const;
    const isObserved = this.#observing || facts?.tool?.observe === true;
    return Object.freeze(isObserved ? { ...decision, observed: "DENY" as const } : decision);
  }
}

/** What mode `observe` enforces: denials that always hold, and that a critical call asks. */
function observed(
  draft: DecisionDraft,
  decided: Decision["verdict"],
  { allowUnattendedCritical }: DecisionTerms,
): Decision["verdict"] {
  if (draft.keptDenied) return "DENY";
  const critical = draft.risk === "critical" && !allowUnattendedCritical;
  const verdict = critical ? stricter(draft.kept, "CONFIRM") : draft.kept;
  draft.reasons.push({ rule: `mode observe: enforce would give ${decided}`, effect: verdict });
  return verdict;
}
