import type { Reason } from "../../core/event.ts";
import type { ToolFacts } from "../policy.ts";
import { type CompiledRule, effectsOf } from "./rules.ts";

/** What the rules that apply to one call say together, before anybody asks how dangerous it is (SPEC 5). */
export interface PermissionRule {
  /** Denials of the runtime and the sandbox: no configuration lifts them. */
  readonly overruled: readonly Reason[];
  /** Why the tool is off until a line of its own enables it, and none does. */
  readonly off: readonly Reason[];
  /** Denials of the configuration, its default included. */
  readonly denied: readonly Reason[];
  /** What granted it, when nothing denied it. */
  readonly granted: readonly Reason[];
  /** The rules that want a person asked; those of the runtime hold in mode `observe` too. */
  readonly confirms: readonly Reason[];
  readonly runtimeConfirms: readonly Reason[];
}

/** One rule and what it is good for in this call: `permit` and `ask` come apart where a `confirm` is in doubt. */
export interface Applied {
  readonly rule: CompiledRule;
  readonly permits: boolean;
  /** A `deny` denies, a `confirm` asks. */
  readonly strikes: boolean;
}

const allowedByDefault: Reason = Object.freeze({ rule: "default: allow", says: "ALLOW" });
const deniedByDefault: Reason = Object.freeze({ rule: "default: deny", says: "DENY" });

/** Deny wins; an allow or a confirm permits what the default refuses; what is off needs a line that names the tool (D27). */
export function permissionFrom(
  applied: readonly Applied[],
  tool: ToolFacts,
  otherwise: "allow" | "deny",
): PermissionRule {
  const struck = applied.filter(({ strikes }) => strikes).map(({ rule }) => rule);
  const permits = applied.filter(({ permits }) => permits).map(({ rule }) => rule);
  const unmet = applied.filter(({ rule, permits }) => rule.effect !== "deny" && rule.origin === "config" && !permits);
  const denies = struck.filter(({ effect }) => effect === "deny");
  const confirms = struck.filter(({ effect }) => effect === "confirm");
  const needed = ownLineFor(tool);
  const off =
    needed === undefined || permits.some(({ namesTool }) => namesTool) ? [] : [needed, ...unmetOf(unmet, true)];
  const denied = reasonsOf(denies.filter(({ origin }) => origin === "config"));
  return {
    overruled: reasonsOf(denies.filter(({ origin }) => origin !== "config")),
    off,
    denied:
      denied.length === 0 && otherwise === "deny" && permits.length === 0
        ? [deniedByDefault, ...unmetOf(unmet, false)]
        : denied,
    granted: permits.length === 0 ? [allowedByDefault] : reasonsOf(permits.filter(({ effect }) => effect === "allow")),
    confirms: reasonsOf(confirms.filter(({ origin }) => origin === "config")),
    runtimeConfirms: reasonsOf(confirms.filter(({ origin }) => origin !== "config")),
  };
}

/** SPEC 5.3: destructive and shell are off until somebody writes the tool's name. */
function ownLineFor(tool: ToolFacts): Reason | undefined {
  if (effectsOf(tool) === "destructive") return ownLine("destructive", tool);
  return needsShell(tool) ? ownLine("shell", tool) : undefined;
}

export function needsOwnLine(tool: ToolFacts): boolean {
  return effectsOf(tool) === "destructive" || needsShell(tool);
}

function needsShell({ permissions }: ToolFacts): boolean {
  return permissions.some((permission) => permission === "shell" || permission.startsWith("shell:"));
}

function ownLine(what: string, { tool }: ToolFacts): Reason {
  return { rule: `default: ${what} needs a rule that names \`${tool}\``, says: "DENY" };
}

function unmetOf(applied: readonly Applied[], namingOnly: boolean): readonly Reason[] {
  return applied.filter(({ rule }) => rule.namesTool || !namingOnly).map(({ rule }) => rule.unmet);
}

function reasonsOf(rules: readonly CompiledRule[]): readonly Reason[] {
  return rules.map(({ reason }) => reason);
}
