import type { Reason } from "../../core/event.ts";
import { rankOf } from "../../core/risk.ts";
import type { DecisionTerms } from "../layers.ts";
import type {
  Decision,
  EffectiveLine,
  EffectivePolicy,
  EffectiveQuery,
  ExtraLayer,
  Facts,
  SkillRequest,
  ToolFacts,
} from "../policy.ts";
import { globMatcher, isGlob } from "../rules/glob.ts";
import type { ToolRules } from "../rules/tool-rules.ts";

/** What the report asks of the policy. */
export interface ReportedPolicy {
  readonly version: string;
  readonly also: readonly ExtraLayer[];
  /** Of the pack, and of taint: what hangs on the hour and on the past. */
  readonly beside: (tool: ToolFacts) => readonly Reason[];
  readonly rulesOf: (tool: ToolFacts) => ToolRules;
  /** By the layers that decide a call. */
  readonly think: (facts: Facts, rules: ToolRules, permissionAt: DecisionTerms["permissionAt"]) => Decision;
}

/** By the very layers that decide a call, as if no condition held; what could change that is named beside it (SPEC 5.6). */
export function effectivePolicy(
  tools: readonly ToolFacts[],
  query: EffectiveQuery,
  deciding: ReportedPolicy,
): EffectivePolicy {
  const requests = query.requests ?? [];
  return {
    version: deciding.version,
    lines: tools.map((tool) => lineOf(tool, query, deciding)).sort(byName),
    unknownRequests: requests
      .flatMap(({ skill, tools: wanted }) => wanted.map((tool) => ({ skill, tool })))
      .filter(({ tool: wanted }) => !isGlob(wanted) && !tools.some(({ tool }) => tool === wanted)),
  };
}

const nothing = { version: 0, tainted: false, calls: [] };
const nothingDone: Facts["history"] = { run: nothing, principal: nothing, tenant: nothing };

function lineOf(
  tool: ToolFacts,
  query: EffectiveQuery,
  { also, beside, rulesOf, think }: ReportedPolicy,
): EffectiveLine {
  const { principal, scopes = tool.scopes, autonomy, maxRiskUnapproved, skills, requests = [] } = query;
  const rules = rulesOf(tool);
  const facts: Facts = {
    tool,
    principal,
    scopes,
    autonomy,
    maxRiskUnapproved,
    suggestion: undefined,
    arguments: {},
    history: nothingDone,
    now: Number.NaN, // no time of day
    skills,
  };
  const { verdict, risk, reasons } = think(facts, rules, rules.permission(undefined));
  return {
    tool: tool.tool,
    action: tool.action,
    ...(tool.server !== undefined && { server: tool.server }),
    risk,
    verdict,
    by: decidedBy(reasons, verdict),
    depends: [
      ...dependsOn(rules, tool),
      ...beside(tool),
      ...also.map(({ name }): Reason => ({ rule: `layer ${name}`, says: "DENY" })),
    ],
    requestedBy: requests.filter((request) => asksFor(request, tool)).map(({ skill }) => skill),
  };
}

/** An answer always has a rule that says it (decide-properties.test.ts). */
function decidedBy(reasons: readonly Reason[], verdict: Decision["verdict"]): Reason {
  return reasons.find(({ says }) => says === verdict) ?? { rule: "policy", says: verdict };
}

function dependsOn({ rules }: ToolRules, { risk, riskSource }: ToolFacts): readonly Reason[] {
  const lowest = riskSource === "declared" ? 0 : rankOf(risk);
  return rules
    .filter(
      ({ demands, fitsRisk }) => demands !== undefined || (fitsRisk !== undefined && fitsRisk(lowest) !== fitsRisk(3)),
    )
    .map(({ reason }) => reason);
}

function asksFor({ tools }: SkillRequest, { tool }: ToolFacts): boolean {
  return tools.some((wanted) => globMatcher(wanted)(tool));
}

function byName(one: EffectiveLine, other: EffectiveLine): number {
  return one.tool === other.tool ? compare(one.action, other.action) : compare(one.tool, other.tool);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
