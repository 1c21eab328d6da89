/**
 * Names in a configuration that match nothing. A `deny` with a typing mistake denies nothing, so each name gets a warning
 * unless its author marked it `optional`.
 *
 * Invariant: a name that may belong to a server whose tools are not known yet gets no warning.
 */
import { defined, nearest } from "@postern/core";
import type { PolicyOptions } from "../decide.ts";
import type { ToolFacts } from "../policy.ts";
import { globMatcher, isGlob } from "../rules/glob.ts";
import type { Rule } from "../rules/rule-schema.ts";
import { compileRules } from "../rules/rules.ts";

/**
 * Something in a policy that its author should look at.
 *
 * @public
 */
export interface PolicyWarning {
  readonly code: "matches_no_tool" | "never_holds" | "contradiction" | "duplicate" | "no_effect" | "observing";
  /** `rule deny #3 (no-mail)`. Left out when the warning is about the whole policy. */
  readonly rule?: string;
  readonly message: string;
  /** Its place in a file. */
  readonly where?: string;
}

/** The names that exist. */
export interface KnownNames {
  readonly tools: readonly ToolFacts[];
  /** Configured servers whose tools are not known yet. */
  readonly awaited: readonly string[];
}

/** A rule, and how it is called: `rule deny #3 (no-mail)`. */
export interface NamedRule {
  readonly rule: Rule;
  readonly name: string;
}

const consequence = { deny: "denies", confirm: "asks about", allow: "permits" } as const;

export function unmatchedRule({ rule, name }: NamedRule, known: KnownNames): readonly PolicyWarning[] {
  if (rule.optional === true) return [];
  const messages: string[] = [];
  if (!matchesAny(rule, known))
    messages.push(
      `The ${name} matches no tool that is registered, so it ${consequence[rule.effect]} nothing${meant(rule, known)}`,
    );
  for (const { tool: counted, requires, forbids } of [rule.history ?? []].flat())
    for (const [word, past] of Object.entries(
      defined({ tool: counted === undefined ? undefined : { tool: counted }, requires, forbids }),
    )) {
      const { tool, action }: Pick<Rule, "tool" | "action"> = past;
      const wanted: Rule = { effect: "allow", ...defined({ tool, action }) };
      if (!matchesAny(wanted, known))
        messages.push(
          `The \`${word}\` of ${name} names \`${tool ?? action}\`, which is no tool${meant(wanted, known)}`,
        );
    }
  return messages.map((message) => ({
    code: "matches_no_tool",
    rule: name,
    message,
    ...defined({ where: rule.where }),
  }));
}

/** Rules of the program, sandbox constraints and the tool lists of the pack. */
export function unmatchedElsewhere(options: PolicyOptions, known: KnownNames): readonly PolicyWarning[] {
  const { runtime = [], sandbox = [], pack } = options;
  return [
    ...runtime.flatMap((rule, i) => unmatchedRule({ rule, name: `runtime rule ${rule.effect} #${i + 1}` }, known)),
    ...sandbox.flatMap(({ argument: _argument, within: _within, relativeTo: _relativeTo, ...selector }, i) =>
      unmatchedRule({ rule: { effect: "deny", ...selector }, name: `sandbox constraint #${i + 1}` }, known),
    ),
    ...unmatchedList({ at: "`pack.anti_flap`", tools: pack?.antiFlap?.tools }, known),
    ...unmatchedList({ at: "`pack.notifications`", tools: pack?.notifications?.tools }, known),
  ];
}

export interface NamedLists {
  /** The owner of the lists, for people. */
  readonly at: string;
  readonly tools?: readonly string[] | undefined;
  readonly servers?: readonly string[] | undefined;
  readonly where?: string | undefined;
  readonly optional?: boolean | undefined;
}

/** Each name or pattern in a list of tools or servers that matches nothing. */
export function unmatchedList(
  { at, tools = [], servers = [], where, optional }: NamedLists,
  known: KnownNames,
): readonly PolicyWarning[] {
  if (optional === true) return [];
  const wanted = [...tools.map((tool) => ({ tool })), ...servers.map((server) => ({ server }))];
  return wanted
    .filter((one) => !matchesAny({ effect: "deny", ...one }, known))
    .map((one) => {
      const [[kind, name] = ["tool", ""]] = Object.entries(one);
      const message = `The ${kind} \`${name}\` of ${at} matches nothing that is registered${meant(one, known)}`;
      return { code: "matches_no_tool", message, ...defined({ where }) };
    });
}

/** Looks at names, scope and effects alone. */
export function matchesAny(rule: Rule, { tools, awaited }: KnownNames): boolean {
  if (awaited.some((server) => mayBeOf(server, rule))) return true;
  const book = compileRules({ config: [{ ...rule, history: [] }] });
  return tools.some((tool) => book.rulesFor(tool).length > 0);
}

/** Whether the rule may mean some tool of that server. */
function mayBeOf(server: string, { tool, server: wanted }: Pick<Rule, "tool" | "server">): boolean {
  if (wanted !== undefined && !globMatcher(wanted)(server)) return false;
  if (tool === undefined) return true;
  const prefix = `${server}__`;
  if (!isGlob(tool)) return tool.startsWith(prefix);
  const head = headOf(tool);
  return head.startsWith(prefix) || prefix.startsWith(head);
}

function meant(
  { tool, server, action }: Pick<Rule, "tool" | "server" | "action">,
  { tools, awaited }: KnownNames,
): string {
  const servers = [...awaited, ...tools.flatMap((one) => one.server ?? [])];
  const names = tools.map((one) => one.tool);
  const ofTool = tools.filter((one) => tool === undefined || globMatcher(tool)(one.tool));
  const actions = ofTool.map((one) => one.action);
  const hint = nearestTo(server, servers) ?? nearestTo(tool, names) ?? nearestTo(action, actions);
  return hint === undefined ? "." : `; did you mean \`${hint}\`?`;
}

/** Returns undefined also when the pattern matches one of the names, because then something else is wrong. */
function nearestTo(pattern: string | undefined, names: readonly string[]): string | undefined {
  if (pattern === undefined || names.some(globMatcher(pattern))) return undefined;
  if (!isGlob(pattern)) return nearest(pattern, names);
  const head = headOf(pattern);
  const heads = names.map((name) => name.slice(0, head.length));
  const nearestHead = nearest(head, heads);
  return nearestHead === undefined ? undefined : nearestHead + pattern.slice(head.length);
}

function headOf(pattern: string): string {
  return pattern.slice(0, pattern.indexOf("*"));
}
