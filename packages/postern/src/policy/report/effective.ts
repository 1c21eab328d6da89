import { defined, type Reason, rankOf } from "@postern/core";
import type { DecisionTerms, PolicyTerms } from "../layers.ts";
import type {
  Decision,
  EffectiveLine,
  EffectivePolicy,
  EffectiveQuery,
  Facts,
  SkillRequest,
  ToolFacts,
} from "../policy.ts";
import { globMatcher, isGlob } from "../rules/glob.ts";
import type { CompiledRule } from "../rules/rules.ts";
import type { ToolRules } from "../rules/tool-rules.ts";

/** What the report needs of the policy. */
export interface ReportedPolicy {
  readonly version: string;
  readonly terms: PolicyTerms;
  readonly rulesOf: (tool: ToolFacts) => ToolRules;
  /** Runs the layers that decide a call. */
  readonly decide: (facts: Facts, rules: ToolRules, permissionAt: DecisionTerms["permissionAt"]) => Decision;
}

/** Runs the layers that decide a call, as if no condition held, and lists what could change the verdict. */
export function effectivePolicy(
  tools: readonly ToolFacts[],
  query: EffectiveQuery,
  policy: ReportedPolicy,
): EffectivePolicy {
  const requests = query.requests ?? [];
  return {
    version: policy.version,
    lines: tools.map((tool) => lineOf(tool, query, policy)).sort(byName),
    unknownRequests: requests
      .flatMap(({ skill, tools: wanted }) => wanted.map((tool) => ({ skill, tool })))
      .filter(({ tool: wanted }) => !isGlob(wanted) && !tools.some(({ tool }) => tool === wanted)),
  };
}

const nothing = { version: 0, tainted: false, calls: [] };
const nothingDone: Facts["history"] = { run: nothing, principal: nothing, tenant: nothing };

function lineOf(tool: ToolFacts, query: EffectiveQuery, { terms, rulesOf, decide }: ReportedPolicy): EffectiveLine {
  const { principal, scopes = tool.scopes, autonomy, maxRiskUnapproved, skills, requests = [] } = query;
  const rules = rulesOf(tool);
  const facts: Facts = {
    ...{ tool, principal, scopes, autonomy, maxRiskUnapproved, skills },
    ...{ suggestion: undefined, arguments: {}, history: nothingDone },
    now: Number.NaN, // no time of day: it depends on the call
  };
  const { verdict, risk, reasons } = decide(facts, rules, rules.permission(undefined));
  const by = decidedBy(reasons, verdict);
  return {
    tool: tool.tool,
    action: tool.action,
    ...defined({ server: tool.server }),
    risk,
    verdict,
    by,
    depends: isFinal(by) ? [] : [...dependsOn(rules, tool), ...otherDependencies(tool, terms)],
    requestedBy: requests.filter((request) => asksFor(request, tool)).map(({ skill }) => skill),
  };
}

/** Only a denial by default can be lifted by a rule; all others win over every rule. */
function isFinal({ rule, effect }: Reason): boolean {
  return effect === "DENY" && !rule.startsWith("default: ");
}

/** What depends on the hour, on the past, or on a layer from outside. */
function otherDependencies(tool: ToolFacts, { adjusters, pack, also }: PolicyTerms): readonly Reason[] {
  const isQuietHours = pack.isQuiet !== undefined && tool.effects !== "read";
  return [
    ...pack.dependsOn(tool).map((rule): Reason => ({ rule, effect: "BLOCK" })),
    ...(isQuietHours ? [{ rule: pack.quietRule, effect: "CONFIRM" } as const] : []),
    ...(adjusters.readsFor(tool) === undefined ? [] : [{ rule: "taint", effect: "RAISE" } as const]),
    ...also.map(({ name }): Reason => ({ rule: `layer ${name}`, effect: "DENY" })),
  ];
}

/** Every verdict has a rule that says it. */
function decidedBy(reasons: readonly Reason[], verdict: Decision["verdict"]): Reason {
  return reasons.find(({ effect }) => effect === verdict) ?? { rule: "policy", effect: verdict };
}

function dependsOn({ rules }: ToolRules, { risk, riskSource }: ToolFacts): readonly Reason[] {
  const lowest = riskSource === "declared" ? 0 : rankOf(risk);
  const depends = ({ demands, fitsRisk }: CompiledRule): boolean =>
    demands !== undefined || (fitsRisk !== undefined && fitsRisk(lowest) !== fitsRisk(3));
  return rules.filter(depends).map(({ reason }) => reason);
}

function asksFor({ tools }: SkillRequest, { tool }: ToolFacts): boolean {
  return tools.some((wanted) => globMatcher(wanted)(tool));
}

function byName(one: EffectiveLine, other: EffectiveLine): number {
  const [a, b] = one.tool === other.tool ? [one.action, other.action] : [one.tool, other.tool];
  return a < b ? -1 : a > b ? 1 : 0;
}
