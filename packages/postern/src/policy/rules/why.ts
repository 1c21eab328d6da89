/** Why a rule applies to one call, or does not: its conditions with the values of the call. It is computed for refusals only. */
import { type Json, type Principal, type Reason, reasonWords, shown } from "@postern/core";
import type { Facts } from "../policy.ts";
import { type ArgumentPath, parsePath, wrong } from "./argument-path.ts";
import { type ConditionCheck, compileConditions, permits } from "./condition.ts";
import type { CompiledLimit } from "./history-limit.ts";
import type { Condition, Rule } from "./rule-schema.ts";

/** The parts of a call that the explanation needs. */
export interface ExplainedCall extends Pick<Facts, "tool" | "arguments" | "history" | "now" | "key"> {
  readonly principal: Principal;
}

type Explain = (call: ExplainedCall) => readonly string[];

/** Keyed by the reason object that a rule adds to its decisions. */
const explanations = new WeakMap<Reason, Explain>();

/** Returns an empty list if the reason is not a rule's, or its rule has no conditions. */
export function whyOf(reason: Reason, call: ExplainedCall): readonly string[] {
  return explanations.get(reason)?.(call) ?? [];
}

/** The reasons in words, with their places, their conditions and the values. Rules that only permit are left out. */
export function reasonsText(reasons: readonly Reason[], call: ExplainedCall): string {
  return reasons
    .filter(({ effect }) => effect !== "ALLOW")
    .map((reason) => {
      const { where } = reason;
      const why = whyOf(reason, call);
      return `${reasonWords(reason)}${where === undefined ? "" : ` (${where})`}${why.length === 0 ? "" : `: ${why.join(" and ")}`}`;
    })
    .join(", ");
}

/** @param unmet the reason of a rule whose conditions did not hold, so that it did not permit */
export function explainedBy(
  rule: Rule,
  {
    reason,
    unmet,
    limits,
  }: { readonly reason: Reason; readonly unmet: Reason; readonly limits: readonly CompiledLimit[] },
): void {
  const conditions = Object.entries(rule.arguments ?? {}).map(([path, condition]) => conditionOf(path, condition));
  const who = rule.principal === undefined ? [] : [`it is about ${principalText(rule.principal)}`];
  const risk =
    rule.risk === undefined
      ? []
      : [`it is about risk ${rule.risk}${rule.effect === "allow" ? " and below" : " and above"}`];
  const target = rule.target === undefined ? [] : [`it is about a target that is ${conditionText(rule.target)}`];
  if (conditions.length + who.length + risk.length + target.length + limits.length === 0) return;
  explanations.set(reason, (call) => [
    ...who,
    ...risk,
    ...target,
    ...conditions.map(({ explain }) => explain(call)),
    ...limits.flatMap(({ usage }) => usage(call)),
  ]);
  explanations.set(unmet, (call) => [
    ...risk,
    ...target,
    ...conditions
      .filter(({ holds }) => !holds.every((one) => (one(call.arguments) & permits) !== 0))
      .map(({ explain }) => explain(call)),
    ...limits.flatMap(({ text, usage }) => [`it needs ${text}`, ...usage(call)]),
  ]);
}

interface ConditionText {
  readonly holds: readonly ConditionCheck[];
  readonly explain: (call: ExplainedCall) => string;
}

function conditionOf(text: string, condition: Condition): ConditionText {
  const path = parsePath(text, "a rule");
  return {
    holds: compileConditions({ [text]: condition }, "a rule"),
    explain: ({ arguments: given }) => `\`${text}\` is ${valueText(path, given)} (${conditionText(condition)})`,
  };
}

function valueText(path: ArgumentPath, given: ExplainedCall["arguments"]): string {
  if (path.many) return shown(path.all(given).flatMap((one) => (one.found === "value" ? [one.value] : [])));
  const value = path.one(given);
  return value === wrong ? "missing, because its path leads through another kind of value" : shown(value);
}

const words: ReadonlyMap<string, string> = new Map([
  ["oneOf", "one of"],
  ["ignoreCase", "ignore case"],
  ["relativeTo", "relative to"],
  ["atLeast", "at least"],
  ["atMost", "at most"],
]);

function conditionText({ not, ...condition }: Condition): string {
  const parts = Object.entries(condition as Readonly<Record<string, Json>>).map(
    ([name, wanted]) => `${words.get(name) ?? name} ${shown(wanted)}`,
  );
  return [...parts, ...(not === undefined ? [] : [`not ${conditionText(not)}`])].join(", ");
}

function principalText(principal: NonNullable<Rule["principal"]>): string {
  return Object.entries(principal)
    .map(([name, wanted]) => `${name} \`${wanted}\``)
    .join(", ");
}
