import type { Principal, Risk } from "../../calls/call.ts";
import type { Reason } from "../../calls/event.ts";
import { parseRisk, rankOf } from "../../calls/risk.ts";
import { invalid } from "../checking.ts";
import type { Facts, Reads, ToolFacts } from "../policy.ts";
import type { Condition, Conditions } from "./condition.ts";
import { globMatcher, isGlob } from "./glob.ts";
import type { HistoryLimit } from "./history-limit.ts";
import { checkRule } from "./rule-check.ts";
import { compileDemands } from "./rule-demands.ts";
import { explainedBy } from "./why.ts";

export type Effect = "allow" | "confirm" | "deny";

/**
 * One line of permission. Names may hold `*`. What is left out does not matter; what is given must be there:
 * `server: "*"` does not match a tool of our own process, `user: "*"` no call without a user.
 */
export interface Rule {
  readonly effect: Effect;
  readonly tool?: string;
  readonly action?: string;
  readonly server?: string;
  /** Of this call. `deny` and `confirm`: from it on; `allow`: up to it. */
  readonly risk?: Risk;
  /** One of the scopes the tool needs. */
  readonly scope?: string;
  readonly effects?: ToolFacts["effects"] | readonly ToolFacts["effects"][];
  readonly principal?: {
    readonly tenant?: string;
    readonly agent?: string;
    readonly user?: string;
  };
  /** By path into the arguments; all must hold. */
  readonly arguments?: Conditions;
  /** Of what the tool says this call acts on: a host, a file. A call without a target permits nothing and is denied. */
  readonly target?: Condition;
  /** What must hold of the past: an `allow` permits while it is kept, `deny` and `confirm` apply as soon as it is broken. */
  readonly history?: HistoryLimit | readonly HistoryLimit[];
  readonly id?: string;
  /** For people: why the rule is there. */
  readonly reason?: string;
  /** Its place in a file. */
  readonly where?: string;
  /** It may match no tool: nobody is warned. */
  readonly optional?: boolean;
}

/** Whose word it is. What the runtime and the sandbox say stands over every configuration, and holds in mode `observe` too. */
export type Origin = "config" | "runtime" | "sandbox";

/** A rule made ready. Order among rules means nothing: `number` only names it. */
export interface CompiledRule {
  readonly effect: Effect;
  readonly origin: Origin;
  /** Over all origins, from 0: its place in a selection. */
  readonly index: number;
  readonly reason: Reason;
  /** What is said of an `allow` or a `confirm` that would have permitted, had its conditions held. */
  readonly unmet: Reason;
  /** It spells the tool's whole name: what a destructive tool needs (D27). */
  readonly namesTool: boolean;
  readonly fitsTool: (tool: ToolFacts) => boolean;
  /** None: it holds for everybody. */
  readonly fitsPrincipal: ((principal: Principal) => boolean) | undefined;
  /** By the rank of a call's risk. None: the risk does not matter. */
  readonly fitsRisk: ((rank: number) => boolean) | undefined;
  /** What it asks of arguments and past, as bits of condition.ts. None: it always holds. */
  readonly demands: ((facts: Facts) => number) | undefined;
  readonly reads: Reads | undefined;
}

/** The rules that can matter for a tool, by its name: hundreds of rules cost what a handful does. */
export interface RuleBook {
  readonly reads: Reads | undefined;
  rulesFor(tool: ToolFacts): readonly CompiledRule[];
}

/** @throws RuntimeFault `policy_invalid`, naming the rule and what is wrong with it */
export function compileRules(rules: Readonly<Partial<Record<Origin, readonly Rule[]>>>): RuleBook {
  const named = new Map<string, CompiledRule[]>();
  const anyTool: CompiledRule[] = [];
  let index = 0;
  const all: CompiledRule[] = [];
  for (const origin of ["runtime", "sandbox", "config"] as const) {
    const given = rules[origin] ?? [];
    if (!Array.isArray(given)) throw invalid(`\`${origin === "config" ? "rules" : origin}\` is not a list.`);
    for (const [i, rule] of (given as readonly Rule[]).entries()) {
      const name = nameOf(rule, origin, i + 1);
      checkRule(rule, origin === "config" ? `rule #${i + 1}` : `${origin} rule #${i + 1}`, origin);
      const compiled = compileRule(rule, { origin, index: index++, name });
      all.push(compiled);
      if (rule.tool === undefined || isGlob(rule.tool)) anyTool.push(compiled);
      else named.set(rule.tool, [...(named.get(rule.tool) ?? []), compiled]);
    }
  }
  const known = new WeakMap<ToolFacts, readonly CompiledRule[]>();
  const find = (tool: ToolFacts): readonly CompiledRule[] =>
    [...(named.get(tool.tool) ?? []), ...anyTool]
      .filter((rule) => rule.fitsTool(tool))
      .sort((one, other) => one.index - other.index);
  return {
    reads: readsOf(all),
    rulesFor: (tool) => {
      if (!isFixed(tool)) return find(tool);
      const rules = known.get(tool) ?? find(tool);
      known.set(tool, rules);
      return rules;
    },
  };
}

/** Registered tools are frozen. What can change is looked at each time. */
function isFixed(tool: ToolFacts): boolean {
  return Object.isFrozen(tool) && Object.isFrozen(tool.scopes);
}

/** The furthest that any of them looks back, scope by scope; undefined: none looks back. */
export function readsOf(all: readonly { readonly reads: Reads | undefined }[]): Reads | undefined {
  const furthest: { -readonly [S in keyof Reads]: Reads[S] } = {};
  for (const { reads = {} } of all)
    for (const scope of ["run", "principal", "tenant"] as const) {
      const window = reads[scope];
      if (window !== undefined) furthest[scope] = Math.max(furthest[scope] ?? 0, window);
    }
  return Object.keys(furthest).length === 0 ? undefined : furthest;
}

/** How a rule is called wherever it takes part. */
function nameOf(rule: Rule, origin: Origin, number: number): string {
  const { effect, id } = Object(rule) as Rule; // it may be anything yet: checkRule comes next
  return `${origin === "config" ? "rule" : origin} ${effect} #${number}${id === undefined ? "" : ` (${id})`}`;
}

function compileRule(
  rule: Rule,
  { origin, index, name }: { readonly origin: Origin; readonly index: number; readonly name: string },
): CompiledRule {
  const { effect, reason, where, principal } = rule;
  const demands = compileDemands(rule, name);
  const said = [reason, demands?.text].filter((part) => part !== undefined && part !== "").join("; ");
  const tool = matcher(rule.tool);
  const action = matcher(rule.action);
  const server = matcher(rule.server);
  const scope = rule.scope === undefined ? undefined : globMatcher(rule.scope);
  const effects = rule.effects === undefined ? undefined : [rule.effects].flat();
  const place = where !== undefined && { where };
  const applied: Reason = Object.freeze({
    rule: said === "" ? name : `${name}: ${said}`,
    says: effect === "allow" ? "ALLOW" : effect === "confirm" ? "CONFIRM" : "DENY",
    ...place,
  });
  const unmet: Reason = Object.freeze({ rule: `${name} does not hold for this call`, says: "DENY", ...place });
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

/** Effects that are not known are taken for destructive ones. */
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
  if (wanted?.tenant === undefined && wanted?.agent === undefined && wanted?.user === undefined) return undefined;
  const tenant = matcher(wanted.tenant);
  const agent = matcher(wanted.agent);
  const user = matcher(wanted.user);
  return (principal) => tenant(principal.tenant) && agent(principal.agent) && user(principal.user);
}

function matcher(pattern: string | undefined): (name: string | undefined) => boolean {
  if (pattern === undefined) return () => true;
  const fits = globMatcher(pattern);
  return (name) => name !== undefined && fits(name);
}
