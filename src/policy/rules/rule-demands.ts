import type { JsonObject } from "../../calls/json.ts";
import type { Facts, Reads } from "../policy.ts";
import { asks, compileConditions, denies, permits } from "./condition.ts";
import { type CompiledLimit, compileLimit, type Kept } from "./history-limit.ts";
import type { Effect, Rule } from "./rules.ts";

/** What one rule asks of arguments and past, ready to be held against a call. */
export interface Demands {
  readonly judge: (facts: Facts) => number;
  readonly reads: Reads | undefined;
  /** The limits, for people. */
  readonly text: string;
  readonly limits: readonly CompiledLimit[];
}

/** @throws RuntimeFault `policy_invalid` */
export function compileDemands(rule: Rule, name: string): Demands | undefined {
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
    reads: readsOf(limits),
    text: limits.map(({ text }) => text).join("; "),
    limits,
  };
}

function targetOf(suggestion: Facts["suggestion"]): JsonObject {
  return suggestion?.target === undefined ? {} : { target: suggestion.target };
}

/** One that is broken is enough. */
function heldBy(limits: readonly CompiledLimit[], effect: Effect, facts: Facts): number {
  let worst: Kept = "kept";
  for (const { judge } of limits) {
    const kept = judge(facts);
    if (kept !== "kept" && worst !== "broken") worst = kept;
  }
  if (effect === "allow") return worst === "kept" ? permits : 0;
  if (worst === "broken") return permits | denies | asks;
  return worst === "unclear" ? denies | asks : 0; // doubt denies and asks, but permits nothing
}

function readsOf(limits: readonly CompiledLimit[]): Reads | undefined {
  if (limits.length === 0) return undefined;
  const furthest: { -readonly [S in keyof Reads]: Reads[S] } = {};
  for (const { within, window } of limits) furthest[within] = Math.max(furthest[within] ?? 0, window);
  return furthest;
}
