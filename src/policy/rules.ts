import type { Principal } from "../calls/call.ts";
import type { Reason } from "../calls/event.ts";
import { RuntimeFault } from "../calls/fault.ts";
import { globMatcher, isGlob } from "./glob.ts";
import type { ToolFacts } from "./policy.ts";

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
  readonly principal?: {
    readonly tenant?: string;
    readonly agent?: string;
    readonly user?: string;
  };
  readonly id?: string;
  /** For people: why the rule is there. */
  readonly reason?: string;
  /** Its place in a file. */
  readonly where?: string;
}

/** A rule made ready. Order among rules means nothing: `number` only names it. */
export interface CompiledRule {
  readonly effect: Effect;
  readonly number: number;
  readonly reason: Reason;
  /** It spells the tool's whole name: what a destructive tool needs (D27). */
  readonly namesTool: boolean;
  readonly fitsTool: (tool: ToolFacts) => boolean;
  /** None: it holds for everybody. */
  readonly fitsPrincipal: ((principal: Principal) => boolean) | undefined;
}

/** The rules that can matter for a tool, by its name: hundreds of rules cost what a handful does. */
export interface RuleBook {
  rulesFor(tool: ToolFacts): readonly CompiledRule[];
}

/** @throws RuntimeFault `policy_invalid`, naming the rule and what is wrong with it */
export function compileRules(rules: readonly Rule[]): RuleBook {
  if (!Array.isArray(rules)) throw new RuntimeFault("policy_invalid", "`rules` is not a list.");
  const named = new Map<string, CompiledRule[]>();
  const anyTool: CompiledRule[] = [];
  for (const [index, rule] of rules.entries()) {
    checkRule(rule, index + 1);
    const compiled = compileRule(rule, index + 1);
    if (rule.tool === undefined || isGlob(rule.tool)) anyTool.push(compiled);
    else named.set(rule.tool, [...(named.get(rule.tool) ?? []), compiled]);
  }
  return {
    rulesFor: (tool) =>
      [...(named.get(tool.tool) ?? []), ...anyTool]
        .filter((rule) => rule.fitsTool(tool))
        .sort((one, other) => one.number - other.number),
  };
}

function compileRule(rule: Rule, number: number): CompiledRule {
  const { effect, id, reason, where, principal } = rule;
  const name = `rule ${effect} #${number}${id === undefined ? "" : ` (${id})`}`;
  const says = effect === "allow" ? "ALLOW" : effect === "confirm" ? "CONFIRM" : "DENY";
  const text = reason === undefined ? name : `${name}: ${reason}`;
  const tool = matcher(rule.tool);
  const action = matcher(rule.action);
  const server = matcher(rule.server);
  return {
    effect,
    number,
    reason: Object.freeze({ rule: text, says, ...(where !== undefined && { where }) }),
    namesTool: rule.tool !== undefined && !isGlob(rule.tool),
    fitsTool: (facts) => tool(facts.tool) && action(facts.action) && server(facts.server),
    fitsPrincipal: principalMatcher(principal),
  };
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

const effects: readonly string[] = ["allow", "confirm", "deny"];
const selectors: readonly string[] = ["tool", "action", "server"];
const notes: readonly string[] = ["id", "reason", "where"];
const principalFields: readonly string[] = ["tenant", "agent", "user"];

/** A field that is misspelled would make its rule wider than it reads, so strangers are refused. */
function checkRule(rule: unknown, number: number): void {
  const at = `rule #${number}`;
  for (const [name, value] of fieldsOf(rule, at)) {
    if (name === "effect") {
      if (!effects.includes(value as string))
        throw invalid(`The effect of ${at} is \`${String(value)}\`; it is one of ${effects.join(", ")}.`); // includes() compares, whatever it is
    } else if (name === "principal") {
      for (const [field, wanted] of fieldsOf(value, `\`principal\` of ${at}`)) {
        if (!principalFields.includes(field))
          throw invalid(`\`principal.${field}\` of ${at} is not known; it has ${principalFields.join(", ")}.`);
        checkPattern(wanted, `\`principal.${field}\` of ${at}`);
      }
    } else if (selectors.includes(name)) {
      checkPattern(value, `\`${name}\` of ${at}`);
    } else if (!notes.includes(name)) {
      throw invalid(
        `\`${name}\` of ${at} is not known; a rule has effect, ${selectors.join(", ")}, principal, ${notes.join(", ")}.`,
      );
    } else if (typeof value !== "string" || !value.isWellFormed()) {
      throw invalid(`\`${name}\` of ${at} is not text.`);
    }
  }
  if (!fieldsOf(rule, at).some(([name]) => name === "effect"))
    throw invalid(`The ${at} has no effect; it is one of ${effects.join(", ")}.`);
}

function fieldsOf(value: unknown, name: string): readonly (readonly [string, unknown])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(`The ${name} is not an object.`);
  return Object.entries(value).filter(([, field]) => field !== undefined);
}

function checkPattern(pattern: unknown, name: string): void {
  if (typeof pattern !== "string" || pattern === "" || !pattern.isWellFormed()) {
    throw invalid(`${name} is \`${String(pattern)}\`; it is a name, in which \`*\` stands for anything.`);
  }
}

function invalid(message: string): RuntimeFault {
  return new RuntimeFault("policy_invalid", message);
}
