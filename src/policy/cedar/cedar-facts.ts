/** What crosses into Cedar: typed facts and chosen arguments, never the arguments themselves (it knows no floats and no null). */
import type { Json } from "../../core/json.ts";
import { parseRisk, rankOf } from "../../core/risk.ts";
import { believedRisk } from "../layers.ts";
import type { Facts } from "../policy.ts";
import { invalid } from "../problem.ts";
import { parsePath, wrong } from "../rules/argument-path.ts";
import type { CedarArguments } from "../schema.ts";

/**
 * `string`, `boolean`, `long` (a whole number); `floor` and `ceil` take any number and round it; `strings` is a list of
 * texts; `present` is whether the argument is there.
 */
export type CedarKind = (typeof cedarKinds)[number];
export const cedarKinds = ["string", "boolean", "long", "floor", "ceil", "strings", "present"] as const;

/** A value as Cedar takes it. */
export type CedarValue = string | number | boolean | readonly CedarValue[] | { readonly [name: string]: CedarValue };

/** Facts of one call, or why they cannot cross. */
export type Crossed = { readonly context: { readonly [name: string]: CedarValue } } | { readonly refused: string };

const kinds: Readonly<Record<CedarKind, string>> = {
  string: "String",
  boolean: "Bool",
  long: "Long",
  floor: "Long",
  ceil: "Long",
  strings: "Set<String>",
  present: "Bool",
};
const argumentName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** The Cedar schema of what crosses, for writing and validating policies against. */
export function cedarSchema(args: CedarArguments = {}): string {
  const fields = Object.entries(args).map(
    ([name, { kind }]) => `${name}${kind === "present" ? "" : "?"}: ${kinds[kind]}`,
  );
  return `namespace Postern {
  entity Agent = { tenant: String, agent: String, user?: String };
  entity Tool = {
    name: String, server?: String, risk: Long, effects: String,
    scopes: Set<String>, permissions: Set<String>, openWorld: Bool,
  };
  action "call" appliesTo {
    principal: Agent,
    resource: Tool,
    context: {
      action: String, autonomy?: String, granted: Set<String>, now: Long,
      unclear: Set<String>, args: { ${fields.join(", ")} },
    },
  };
}
`;
}

/** @throws RuntimeFault `policy_invalid`. The schema has checked the arguments. */
export function crossing(args: CedarArguments): (facts: Facts) => Crossed {
  const chosen = Object.entries(args).map(([name, { path: text, kind, otherwise = "deny" }]) => {
    const at = `\`${name}\` of the Cedar layer`;
    if (!argumentName.test(name)) throw invalid(`${at} is no name; use letters, digits and _.`);
    const path = parsePath(text, at);
    if (path.many) throw invalid(`${at} has a \`[*]\`; one value crosses, or a list of texts as \`strings\`.`);
    return { name, path, kind, otherwise };
  });
  return (facts) => {
    const values: { [name: string]: CedarValue } = {};
    const unclear: string[] = [];
    for (const { name, path, kind, otherwise } of chosen) {
      const found = path.one(facts.arguments);
      if (found === undefined && kind !== "present") continue;
      const value =
        kind === "present"
          ? found !== undefined && found !== wrong
          : crossed(kind, found === wrong ? null : (found as Json)); // not `wrong`, not undefined
      if (value !== undefined) values[name] = value;
      else if (otherwise === "deny") return { refused: `argument \`${name}\` is no ${kind}` };
      else unclear.push(name);
    }
    const { autonomy, scopes, now, tool } = facts;
    const context = {
      action: tool.action,
      ...(autonomy !== undefined && { autonomy }),
      granted: scopes,
      now,
      unclear,
      args: values,
    };
    return { context };
  };
}

function crossed(kind: CedarKind, value: Json): CedarValue | undefined {
  if (kind === "string") return typeof value === "string" ? value : undefined;
  if (kind === "boolean") return typeof value === "boolean" ? value : undefined;
  if (kind === "strings")
    return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined;
  if (typeof value !== "number") return undefined;
  if (kind === "long") return Number.isSafeInteger(value) ? value : undefined;
  const whole = kind === "floor" ? Math.floor(value) : Math.ceil(value);
  const most = Number.MAX_SAFE_INTEGER;
  return Math.min(most, Math.max(-most, whole)) + 0; // + 0: Cedar is not told of -0
}

/** Who and what, as entities; only those of this call, for crossing is what costs. */
export function cedarEntities({ tool, principal, suggestion }: Facts): readonly CedarEntity[] {
  const base = parseRisk(tool.risk);
  const suggested = suggestion?.risk === undefined ? base : parseRisk(suggestion.risk);
  const risk = base === undefined || suggested === undefined ? "critical" : believedRisk(tool, base, suggested);
  const { tenant, agent, user } = principal;
  return [
    {
      uid: { type: "Postern::Agent", id: JSON.stringify([tenant, agent]) },
      attrs: { tenant, agent, ...(user !== undefined && { user }) },
      parents: [],
    },
    {
      uid: { type: "Postern::Tool", id: tool.tool },
      attrs: {
        name: tool.tool,
        ...(tool.server !== undefined && { server: tool.server }),
        risk: rankOf(risk),
        effects: tool.effects,
        scopes: tool.scopes,
        permissions: tool.permissions,
        openWorld: tool.openWorld === true,
      },
      parents: [],
    },
  ];
}

export interface CedarEntity {
  readonly uid: { readonly type: string; readonly id: string };
  readonly attrs: { readonly [name: string]: CedarValue };
  readonly parents: readonly never[];
}
