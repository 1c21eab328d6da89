/** Finds parts of a valid policy that its author probably did not mean. It needs no call; `doctor` shows it. */
import { canonical, type Json } from "@postern/core";
import type { PolicyOptions } from "../decide.ts";
import type { ToolFacts } from "../policy.ts";
import { needsOwnRule } from "../rules/permission.ts";
import type { PlainCondition, Rule } from "../rules/rule-schema.ts";
import { ruleName } from "../rules/rules.ts";
import { matchesAny, type NamedRule, type PolicyWarning, unmatchedElsewhere, unmatchedRule } from "./unmatched.ts";

/**
 * Examines a policy that `createPolicy` accepts. Without tools it cannot warn about rules that match none.
 *
 * @param awaited servers whose tools are not among `tools` yet; names that may be theirs get no warning
 *
 * @example
 * for (const { message, where } of policyWarnings(options, tools)) console.warn(where, message);
 *
 * @public
 */
export function policyWarnings(
  options: PolicyOptions,
  tools?: readonly ToolFacts[],
  awaited: readonly string[] = [],
): readonly PolicyWarning[] {
  const known = tools && { tools, awaited };
  const rules = (options.rules ?? []).map((rule, i) => ({ rule, name: ruleName(rule, i + 1) }));
  const found = rules.flatMap((one) => [
    ...(known === undefined ? [] : unmatchedRule(one, known)),
    ...neverHolds(one),
    ...(options.default === "deny" ? [] : withoutEffect(one, tools)),
  ]);
  if (known !== undefined) found.push(...unmatchedElsewhere(options, known));
  if (options.mode === "observe")
    found.push({
      code: "observing",
      message: "The policy observes: it records what it would decide and enforces only what always holds.",
    });
  else if (tools?.some(({ observe }) => observe) === true) found.push(observedServers(tools));
  return [...found, ...clashes(rules)];
}

function observedServers(tools: readonly ToolFacts[]): PolicyWarning {
  const servers = new Set(tools.flatMap(({ observe, server }) => (observe === true ? [`\`${server ?? ""}\``] : [])));
  const message = `Calls of ${[...servers].join(", ")} are only observed: the verdict is recorded, and only what always holds is enforced.`;
  return { code: "observing", message };
}

function warning(code: PolicyWarning["code"], { rule, name }: NamedRule, message: string): PolicyWarning {
  return { code, rule: name, message, ...(rule.where !== undefined && { where: rule.where }) };
}

function neverHolds(one: NamedRule): readonly PolicyWarning[] {
  return Object.entries(one.rule.arguments ?? {}).flatMap(([path, { not, ...condition }]) => {
    const problems = [problemOf(condition), not && problemOf(not, "always holds, for in `not` ")];
    return problems
      .filter((problem) => problem !== undefined)
      .map((problem) => warning("never_holds", one, `\`${path}\` of ${one.name} ${problem}.`));
  });
}

function problemOf(condition: PlainCondition, says = "never holds: "): string | undefined {
  for (const name of ["oneOf", "like", "path", "host"] as const) {
    const list = condition[name];
    if (Array.isArray(list) && list.length === 0) return `${says}\`${name}\` is empty`;
  }
  if (emptyRange(condition)) return `${says}no number is in its range`;
  if (condition.length !== undefined && emptyRange({ atLeast: 0, ...condition.length }))
    return `${says}no length is in its range`;
  const others = Object.keys(condition).filter((name) => name !== "present");
  if (condition.present === false && others.length > 0) return `${says}what is not there has no value`;
  return undefined;
}

function emptyRange({ above, atLeast, below, atMost }: PlainCondition): boolean {
  const low = Math.max(above ?? Number.NEGATIVE_INFINITY, atLeast ?? Number.NEGATIVE_INFINITY);
  const high = Math.min(below ?? Number.POSITIVE_INFINITY, atMost ?? Number.POSITIVE_INFINITY);
  return low > high || (low === high && (low === above || high === below));
}

/** With `default: allow`, one more `allow` refuses nothing. Its author may have meant to restrict. */
function withoutEffect(one: NamedRule, tools: readonly ToolFacts[] | undefined): readonly PolicyWarning[] {
  const { rule, name } = one;
  if (rule.effect !== "allow" || (rule.arguments ?? rule.history ?? rule.risk) === undefined) return [];
  const off = (tools ?? []).filter(needsOwnRule);
  if (tools === undefined || matchesAny(rule, { tools: off, awaited: [] })) return [];
  const message = `The ${name} refuses nothing: with \`default: allow\`, a call is permitted also where its conditions do not hold. Write a \`deny\` with \`not\`, or \`default: deny\`.`;
  return [warning("no_effect", one, message)];
}

function clashes(rules: readonly NamedRule[]): readonly PolicyWarning[] {
  return rules.flatMap((one, i) =>
    rules.slice(i + 1).flatMap((other): readonly PolicyWarning[] => {
      const same = canonical(selectorOf(one.rule)) === canonical(selectorOf(other.rule));
      if (one.rule.effect === other.rule.effect)
        return same ? [warning("duplicate", other, `The ${other.name} says the same as ${one.name}.`)] : [];
      const [denies, permits] = one.rule.effect === "deny" ? [one, other] : [other, one];
      if (denies.rule.effect !== "deny" || !(same || covers(denies.rule, permits.rule))) return [];
      const at = denies.rule.where === undefined ? "" : ` (${denies.rule.where})`;
      const message = `The ${permits.name} never permits anything: ${denies.name}${at} denies the same calls, and deny wins.`;
      return [warning("contradiction", permits, message)];
    }),
  );
}

/** Whether the denying rule covers the permitting one: each of its selectors is left out or the same. */
function covers(denies: Rule, permits: Rule): boolean {
  const wider = Object.entries(selectorOf(denies) as Readonly<Record<string, Json>>); // it is an object, made below
  const narrower = selectorOf(permits) as Readonly<Record<string, Json>>;
  const isSame = (name: string, value: Json): boolean =>
    Object.hasOwn(narrower, name) && canonical(narrower[name] ?? null) === canonical(value);
  return wider.every(([name, value]) => name !== "risk" && name !== "history" && isSame(name, value));
}

/** All fields except the effect and those for people. */
function selectorOf({ effect: _e, id: _i, reason: _r, where: _w, optional: _o, ...selector }: Rule): Json {
  return JSON.parse(JSON.stringify(selector));
}
