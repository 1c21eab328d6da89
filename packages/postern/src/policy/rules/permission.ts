import type { Reason } from "@postern/core";
import type { ToolFacts } from "../policy.ts";
import { type CompiledRule, effectsOf } from "./rules.ts";

/** The combined answer of all rules of one call, before its risk counts. */
export interface PermissionRule {
  /** Denials of the runtime and the sandbox: no configuration lifts them. */
  readonly overruled: readonly Reason[];
  /** Why the tool is off: it needs a rule that names it, and has none. */
  readonly off: readonly Reason[];
  /** Denials of the configuration, its default included. */
  readonly denied: readonly Reason[];
  /** The rules that granted it, if nothing denied it. */
  readonly granted: readonly Reason[];
  /** The rules that ask a person. Those of the runtime hold in mode `observe` too. */
  readonly confirms: readonly Reason[];
  readonly runtimeConfirms: readonly Reason[];
}

/** A rule and what it does for this call. A `confirm` in doubt asks, but does not permit. */
export interface AppliedRule {
  readonly rule: CompiledRule;
  readonly permits: boolean;
  /** A `deny` denies, a `confirm` asks. */
  readonly takesEffect: boolean;
}

const allowedByDefault: Reason = Object.freeze({ rule: "default: allow", effect: "ALLOW" });
const deniedByDefault: Reason = Object.freeze({ rule: "default: deny", effect: "DENY" });

/** Deny wins. An allow or a confirm permits what the default refuses. A tool that is off needs a rule that names it. */
export function permissionFrom(
  applied: readonly AppliedRule[],
  tool: ToolFacts,
  defaultEffect: "allow" | "deny",
): PermissionRule {
  const effective = applied.filter(({ takesEffect }) => takesEffect).map(({ rule }) => rule);
  const permits = applied.filter(({ permits }) => permits).map(({ rule }) => rule);
  const unmet = applied.filter(({ rule, permits }) => rule.effect !== "deny" && rule.origin === "config" && !permits);
  const denies = effective.filter(({ effect }) => effect === "deny");
  const confirms = effective.filter(({ effect }) => effect === "confirm");
  const needed = ownRuleFor(tool);
  const off =
    needed === undefined || permits.some(({ namesTool }) => namesTool) ? [] : [needed, ...unmetOf(unmet, true)];
  const denied = reasonsOf(denies.filter(({ origin }) => origin === "config"));
  return {
    overruled: reasonsOf(denies.filter(({ origin }) => origin !== "config")),
    off,
    denied:
      denied.length === 0 && defaultEffect === "deny" && permits.length === 0
        ? [deniedByDefault, ...unmetOf(unmet, false)]
        : denied,
    granted: permits.length === 0 ? [allowedByDefault] : reasonsOf(permits.filter(({ effect }) => effect === "allow")),
    confirms: reasonsOf(confirms.filter(({ origin }) => origin === "config")),
    runtimeConfirms: reasonsOf(confirms.filter(({ origin }) => origin !== "config")),
  };
}

/** Why a tool is off until a rule names it: it is destructive, or it runs a shell. */
function ownRuleFor(tool: ToolFacts): Reason | undefined {
  const needsShell = tool.permissions.some((one) => one === "shell" || one.startsWith("shell:"));
  const what = effectsOf(tool) === "destructive" ? "destructive" : needsShell ? "shell" : undefined;
  return what && { rule: `default: ${what} needs a rule that names \`${tool.tool}\``, effect: "DENY" };
}

export function needsOwnRule(tool: ToolFacts): boolean {
  return ownRuleFor(tool) !== undefined;
}

function unmetOf(applied: readonly AppliedRule[], namingOnly: boolean): readonly Reason[] {
  return applied.filter(({ rule }) => rule.namesTool || !namingOnly).map(({ rule }) => rule.unmet);
}

function reasonsOf(rules: readonly CompiledRule[]): readonly Reason[] {
  return rules.map(({ reason }) => reason);
}
