/**
 * Our rules as Cedar policies: the oracle of our own decisions (cedar-differential.test.ts).
 *
 * It covers rules, default, safe defaults and scopes: permitted, permitted after a question, denied. It leaves out matrix,
 * threshold, secrets and skills. A rule that Cedar cannot express exactly is named and refused, never approximated.
 */
import { parseRisk, rankOf } from "../../packages/core/src/risk.ts";
import { cedarSchema } from "../../packages/postern/src/policy/cedar/cedar-facts.ts";
import type { PolicyOptions } from "../../packages/postern/src/policy/decide.ts";
import { compileOptions } from "../../packages/postern/src/policy/options.ts";
import { isGlob } from "../../packages/postern/src/policy/rules/glob.ts";
import type { Rule } from "../../packages/postern/src/policy/rules/rule-schema.ts";
import type { CedarArguments } from "../../packages/postern/src/policy/schema.ts";
import { CedarConditions } from "./cedar-conditions.ts";
import { all, any, globbed, text, Unsupported } from "./cedar-text.ts";

export interface CedarExport {
  readonly policies: string;
  readonly schema: string;
  /** The facts that the policies use, for `cedarLayer`. */
  readonly arguments: CedarArguments;
}

/**
 * Writes a policy's rules as Cedar.
 *
 * @throws Unsupported, which names every rule that Cedar cannot express, and why
 */
export function cedarFrom(options: PolicyOptions): CedarExport {
  compileOptions(options);
  const problems: string[] = [];
  if (options.mode === "observe") problems.push("`mode: observe` enforces nothing");
  if ((options.also ?? []).length > 0) problems.push("`also` holds code");
  if ((options.sandbox ?? []).length > 0) problems.push("`sandbox` judges paths");
  const conditions = new CedarConditions();
  const written = (list: readonly Rule[] = [], origin: string): readonly Written[] =>
    list.flatMap((rule, i) => {
      const name = `${origin}${rule.effect} #${i + 1}${rule.id === undefined ? "" : ` (${rule.id})`}`;
      try {
        return [write(rule, name, conditions)];
      } catch (error) {
        if (!(error instanceof Unsupported)) throw error;
        problems.push(`${name}${rule.where === undefined ? "" : ` (${rule.where})`}: ${error.message}`);
        return [];
      }
    });
  const runtime = written(options.runtime, "runtime ");
  const rules = written(options.rules, "rule ");
  if (problems.length > 0) throw new Unsupported(`Cedar cannot say this policy exactly: ${problems.join("; ")}.`);
  const permits = rules.filter(({ rule }) => rule.effect !== "deny");
  const policies = [
    policy("base", "permit", {}),
    ...safeDefaults(permits),
    ...(options.default === "deny"
      ? [policy("default: deny", "forbid", { unless: any(permits.map(({ permits: when }) => when)) })]
      : []),
    policy("scopes", "forbid", { unless: "context.granted.containsAll(resource.scopes)" }),
    ...[...runtime, ...rules].flatMap(({ rule, name, strikes }) => {
      if (rule.effect === "deny") return [policy(name, "forbid", { when: strikes })];
      return rule.effect === "confirm" ? [policy(name, "permit", { when: strikes, gate: "confirm" })] : [];
    }),
  ];
  return { policies: policies.join("\n"), schema: cedarSchema(conditions.arguments), arguments: conditions.arguments };
}

interface Written {
  readonly rule: Rule;
  readonly name: string;
  /** Cedar expressions: when it permits, and when it denies or asks. */
  readonly permits: string;
  readonly strikes: string;
}

/** Tools that are off until a rule names them. Names are exact, so one forbid for each name is enough. */
function safeDefaults(permits: readonly Written[]): readonly string[] {
  const naming = permits.filter(({ rule }) => rule.tool !== undefined && !isGlob(rule.tool));
  const enabled = any(naming.map(({ permits: when }) => when));
  return [
    policy("default: own line", "forbid", {
      when: '(resource.effects == "destructive" || resource.permissions.contains("shell"))',
      unless: enabled,
    }),
  ];
}

interface Clauses {
  readonly when?: string;
  readonly unless?: string;
  readonly gate?: string;
}

function policy(id: string, effect: "permit" | "forbid", { when, unless, gate }: Clauses): string {
  const clauses = Object.entries({ when, unless }).flatMap(([word, one]) =>
    one === undefined ? [] : [`${word} { ${one} }`],
  );
  const head = `@id(${text(id)})\n${gate === undefined ? "" : `@gate(${text(gate)})\n`}`;
  return `${head}${effect}(principal, action, resource)${clauses.length === 0 ? "" : `\n  ${clauses.join("\n  ")}`};\n`;
}

function write(rule: Rule, name: string, conditions: CedarConditions): Written {
  if (rule.history !== undefined) throw new Unsupported("it looks at the past");
  if (rule.target !== undefined) throw new Unsupported("it looks at the target of a call");
  const { tool, action, server, scope, effects, principal = {}, risk } = rule;
  const selected: string[] = [];
  if (tool !== undefined) selected.push(globbed("resource.name", tool));
  if (action !== undefined) selected.push(globbed("context.action", action));
  if (server !== undefined) selected.push(`resource has server && ${globbed("resource.server", server)}`);
  if (scope !== undefined) {
    if (isGlob(scope)) throw new Unsupported("a pattern for scopes; Cedar looks for whole elements of a set");
    selected.push(`resource.scopes.contains(${text(scope)})`);
  }
  if (effects !== undefined) selected.push(`[${[effects].flat().map(text).join(", ")}].contains(resource.effects)`);
  if (principal.tenant !== undefined) selected.push(globbed("principal.tenant", principal.tenant));
  if (principal.agent !== undefined) selected.push(globbed("principal.agent", principal.agent));
  if (principal.user !== undefined) selected.push(`principal has user && ${globbed("principal.user", principal.user)}`);
  const level = parseRisk(risk);
  if (level !== undefined) selected.push(`resource.risk ${rule.effect === "allow" ? "<=" : ">="} ${rankOf(level)}`);
  const held = conditions.compile(rule.arguments ?? {});
  const strikes = rule.effect === "deny" ? held.denies : held.asks;
  return {
    rule,
    name,
    permits: all([...selected, held.permits]),
    strikes: all([...selected, strikes]),
  };
}
