/** Why a rule applies to one call, or does not: its conditions with the values that they met. Asked only for a refusal. */
import type { Principal } from "../../core/call.ts";
import type { Reason } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { shown } from "../../core/shown.ts";
import type { Facts } from "../policy.ts";
import { type ArgumentPath, parsePath, wrong } from "./argument-path.ts";
import { type ConditionCheck, compileConditions, permits } from "./condition.ts";
import type { CompiledLimit } from "./history-limit.ts";
import type { Condition, Rule } from "./rule-schema.ts";

/** What of a call is needed to say why. */
export interface LookedAt extends Pick<Facts, "tool" | "arguments" | "history" | "now" | "key"> {
  readonly principal: Principal;
}

type Tell = (call: LookedAt) => readonly string[];

/** By the one object that a rule puts among the reasons of its decisions. */
const tellers = new WeakMap<Reason, Tell>();

/** Nothing when it is no rule's reason, or its rule has no conditions. */
export function whyOf(reason: Reason, call: LookedAt): readonly string[] {
  return tellers.get(reason)?.(call) ?? [];
}

/** The rules' names with their places, and which condition met which value. Without those that only permit. */
export function reasonsText(reasons: readonly Reason[], call: LookedAt): string {
  return reasons
    .filter(({ says }) => says !== "ALLOW")
    .map((reason) => {
      const { rule, where } = reason;
      const why = whyOf(reason, call);
      return `${rule}${where === undefined ? "" : ` (${where})`}${why.length === 0 ? "" : `: ${why.join(" and ")}`}`;
    })
    .join(", ");
}

/** @param unmet what is said of the rule where it would have permitted, had its conditions held */
export function explainedBy(
  rule: Rule,
  {
    reason,
    unmet,
    limits,
  }: { readonly reason: Reason; readonly unmet: Reason; readonly limits: readonly CompiledLimit[] },
): void {
  const conditions = Object.entries(rule.arguments ?? {}).map(([path, condition]) => conditionOf(path, condition));
  const who = rule.principal === undefined ? [] : [`it is about ${whoText(rule.principal)}`];
  const risk =
    rule.risk === undefined
      ? []
      : [`it is about risk ${rule.risk}${rule.effect === "allow" ? " and below" : " and above"}`];
  const target = rule.target === undefined ? [] : [`it is about a target that is ${conditionText(rule.target)}`];
  if (conditions.length + who.length + risk.length + target.length + limits.length === 0) return;
  tellers.set(reason, (call) => [
    ...who,
    ...risk,
    ...target,
    ...conditions.map(({ tell }) => tell(call)),
    ...limits.flatMap(({ usage }) => usage(call)),
  ]);
  tellers.set(unmet, (call) => [
    ...risk,
    ...target,
    ...conditions
      .filter(({ holds }) => !holds.every((one) => (one(call.arguments) & permits) !== 0))
      .map(({ tell }) => tell(call)),
    ...limits.flatMap(({ text, usage }) => [`it needs ${text}`, ...usage(call)]),
  ]);
}

interface ConditionText {
  readonly holds: readonly ConditionCheck[];
  readonly tell: (call: LookedAt) => string;
}

function conditionOf(text: string, condition: Condition): ConditionText {
  const path = parsePath(text, "a rule");
  return {
    holds: compileConditions({ [text]: condition }, "a rule"),
    tell: ({ arguments: given }) => `\`${text}\` is ${valueText(path, given)} (${conditionText(condition)})`,
  };
}

function valueText(path: ArgumentPath, given: LookedAt["arguments"]): string {
  if (path.many) return shown(path.all(given).flatMap((one) => (one.found === "value" ? [one.value] : [])));
  const value = path.one(given);
  return value === wrong ? "not there, as something else stands on its way" : shown(value);
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

function whoText(principal: NonNullable<Rule["principal"]>): string {
  return Object.entries(principal)
    .map(([name, wanted]) => `${name} \`${wanted}\``)
    .join(", ");
}
