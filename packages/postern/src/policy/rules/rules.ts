import { type JsonObject, type Principal, parseRisk, type Reason, rankOf } from "@postern/core";
import type { Facts, Reads, ToolFacts } from "../policy.ts";
import { invalid } from "../problem.ts";
import { asks, compileConditions, denies, permits } from "./condition.ts";
import { globMatcher, isGlob, nameMatcher } from "./glob.ts";
import { type CompiledLimit, compileLimit, type LimitResult } from "./history-limit.ts";
import type { Rule, SandboxConstraint } from "./rule-schema.ts";
import { explainedBy } from "./why.ts";

/** Where a rule comes from. Rules of the runtime and the sandbox win over the configuration, also in mode `observe`. */
export type Origin = "config" | "runtime" | "sandbox";

/** The compiled conditions and limits of a rule. */
interface Demands {
  readonly judge: (facts: Facts) => number;
  readonly reads: Reads | undefined;
  /** The limits, for people. */
  readonly text: string;
  readonly limits: readonly CompiledLimit[];
}

/** A compiled rule. The order of rules has no meaning. */
export interface CompiledRule {
  readonly effect: Rule["effect"];
  readonly origin: Origin;
  /** Its place over all origins, from 0. */
  readonly index: number;
  readonly reason: Reason;
  /** The reason of an `allow` or a `confirm` whose conditions do not hold. */
  readonly unmet: Reason;
  /** It names the tool without `*`, as a destructive tool needs it. */
  readonly namesTool: boolean;
  readonly fitsTool: (tool: ToolFacts) => boolean;
  /** Undefined if the rule applies to all callers. */
  readonly fitsPrincipal: ((principal: Principal) => boolean) | undefined;
  /** By the rank of a call's risk. Undefined if the risk does not matter. */
  readonly fitsRisk: ((rank: number) => boolean) | undefined;
  /** Its conditions and limits, as bits of condition.ts. Undefined if it always holds. */
  readonly demands: ((facts: Facts) => number) | undefined;
  readonly reads: Reads | undefined;
}

/** Finds the rules of a tool by its name, so hundreds of rules cost as much as a few. */
export interface RuleSet {
  readonly reads: Reads | undefined;
  rulesFor(tool: ToolFacts): readonly CompiledRule[];
}

/** @throws RuntimeFault `policy_invalid` with the rule and what is wrong with it */
export function compileRules(rules: Readonly<Partial<Record<Origin, readonly Rule[]>>>): RuleSet {
  const all: CompiledRule[] = [];
  const named = new Map<string, CompiledRule[]>();
  const anyTool: CompiledRule[] = [];
  for (const origin of ["runtime", "sandbox", "config"] as const)
    for (const [i, rule] of (rules[origin] ?? []).entries()) {
      const name = ruleName(rule, i + 1, origin);
      if (origin !== "config" && rule.effect === "allow")
        throw invalid(`The effect of ${name} is \`allow\`; the ${origin} only denies or asks.`);
      const compiled = compileRule(rule, { origin, index: all.length, name });
      all.push(compiled);
      if (rule.tool === undefined || isGlob(rule.tool)) anyTool.push(compiled);
      else named.set(rule.tool, [...(named.get(rule.tool) ?? []), compiled]);
    }
  return {
    reads: readsOf(all),
    rulesFor: (tool) =>
      [...(named.get(tool.tool) ?? []), ...anyTool]
        .filter((rule) => rule.fitsTool(tool))
        .sort((one, other) => one.index - other.index),
  };
}

/** How far back any of them reads, by scope. Returns undefined if none reads the past. */
export function readsOf(all: readonly { readonly reads: Reads | undefined }[]): Reads | undefined {
  const furthest: { -readonly [S in keyof Reads]: Reads[S] } = {};
  for (const { reads = {} } of all)
    for (const scope of ["run", "principal", "tenant"] as const) {
      const window = reads[scope];
      if (window !== undefined) furthest[scope] = Math.max(furthest[scope] ?? 0, window);
    }
  return Object.keys(furthest).length === 0 ? undefined : furthest;
}

/** The name of a rule in reasons and warnings: `rule deny #3 (no-mail)`. */
export function ruleName({ effect, id }: Rule, number: number, origin: Origin = "config"): string {
  return `${origin === "config" ? "rule" : origin} ${effect} #${number}${id === undefined ? "" : ` (${id})`}`;
}

function compileRule(
  rule: Rule,
  { origin, index, name }: { readonly origin: Origin; readonly index: number; readonly name: string },
): CompiledRule {
  const { effect, reason, where, principal } = rule;
  const demands = compileDemands(rule, name);
  const notes = [reason, demands?.text].filter((part) => part !== undefined && part !== "").join("; ");
  const tool = nameMatcher(rule.tool);
  const action = nameMatcher(rule.action);
  const server = nameMatcher(rule.server);
  const scope = rule.scope === undefined ? undefined : globMatcher(rule.scope);
  const effects = rule.effects === undefined ? undefined : [rule.effects].flat();
  const place = where !== undefined && { where };
  const applied: Reason = Object.freeze({
    rule: notes === "" ? name : `${name}: ${notes}`,
    effect: effect === "allow" ? "ALLOW" : effect === "confirm" ? "CONFIRM" : "DENY",
    ...place,
  });
  const unmet: Reason = Object.freeze({ rule: `${name} does not hold for this call`, effect: "DENY", ...place });
  explainedBy(rule, { reason: applied, unmet, limits: demands?.limits ?? [] });
  return {
    effect,
    origin,
    index,
    reason: applied,
    unmet,
    namesTool: rule.tool !== undefined && !isGlob(rule.tool),
    fitsTool: (facts) =>
      tool(facts.tool) &&
      action(facts.action) &&
      server(facts.server) &&
      (scope === undefined || facts.scopes.some(scope)) &&
      (effects === undefined || effects.includes(effectsOf(facts))),
    fitsPrincipal: principalMatcher(principal),
    fitsRisk: riskMatcher(rule),
    demands: demands?.judge,
    reads: demands?.reads,
  };
}

/** Unknown effects count as destructive. */
export function effectsOf({ effects }: ToolFacts): ToolFacts["effects"] {
  return effects === "read" || effects === "write" ? effects : "destructive";
}

/** Raising a risk never loses a `deny` or a `confirm`, and never gains an `allow`. */
function riskMatcher({ risk, effect }: Rule): CompiledRule["fitsRisk"] {
  const level = parseRisk(risk);
  if (level === undefined) return undefined;
  const limit = rankOf(level);
  return effect === "allow" ? (rank) => rank <= limit : (rank) => rank >= limit;
}

function principalMatcher(wanted: Rule["principal"]): CompiledRule["fitsPrincipal"] {
  if (wanted === undefined || Object.values(wanted).every((name) => name === undefined)) return undefined;
  const tenant = nameMatcher(wanted.tenant);
  const agent = nameMatcher(wanted.agent);
  const user = nameMatcher(wanted.user);
  const group = wanted.group === undefined ? undefined : globMatcher(wanted.group);
  return (principal) =>
    tenant(principal.tenant) &&
    agent(principal.agent) &&
    user(principal.user) &&
    (group === undefined || principal.groups?.some(group) === true);
}

/** @throws RuntimeFault `policy_invalid` */
function compileDemands(rule: Rule, name: string): Demands | undefined {
  const conditions = rule.arguments === undefined ? [] : compileConditions(rule.arguments, `\`arguments\` of ${name}`);
  const targets = rule.target === undefined ? [] : compileConditions({ "$.target": rule.target }, name);
  const limits = (rule.history === undefined ? [] : [rule.history].flat()).map((limit) =>
    compileLimit(limit, rule, `\`history\` of ${name}`),
  );
  if (conditions.length + targets.length + limits.length === 0) return undefined;
  const { effect } = rule;
  return {
    judge: (facts) => {
      let held = permits | denies | asks;
      for (const holds of conditions) {
        held &= holds(facts.arguments);
        if (held === 0) return 0;
      }
      for (const holds of targets) held &= holds(targetOf(facts.suggestion));
      return limits.length === 0 ? held : held & heldBy(limits, effect, facts);
    },
    reads: readsOf(limits.map(({ within, window }) => ({ reads: { [within]: window } }))),
    text: limits.map(({ text }) => text).join("; "),
    limits,
  };
}

function targetOf(suggestion: Facts["suggestion"]): JsonObject {
  return suggestion?.target === undefined ? {} : { target: suggestion.target };
}

/** One broken limit is enough. */
function heldBy(limits: readonly CompiledLimit[], effect: Rule["effect"], facts: Facts): number {
  let worst: LimitResult = "kept";
  for (const { judge } of limits) {
    const kept = judge(facts);
    if (kept !== "kept" && worst !== "broken") worst = kept;
  }
  if (effect === "allow") return worst === "kept" ? permits : 0;
  if (worst === "broken") return permits | denies | asks;
  return worst === "unclear" ? denies | asks : 0; // doubt denies and asks, but permits nothing
}

/** Each constraint as a rule that denies. */
export function sandboxRules(constraints: readonly SandboxConstraint[]): readonly Rule[] {
  return constraints.map(({ argument, within, relativeTo, optional: _optional, ...rest }): Rule => {
    const inside = { path: within, ...(relativeTo !== undefined && { relativeTo }) };
    const many = argument.indexOf("[*]");
    return {
      ...rest,
      effect: "deny",
      arguments:
        many < 0
          ? { [argument]: { present: true, not: inside } }
          : { [argument.slice(0, many)]: { present: true }, [argument]: { not: inside } },
      reason: `\`${argument}\` must lie within ${within.join(", ") || "nothing"}`,
    };
  });
}
