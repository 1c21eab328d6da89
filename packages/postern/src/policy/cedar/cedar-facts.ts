/** What Cedar receives: typed facts and chosen arguments, never all arguments, because Cedar knows no floats and no null. */
import { type Json, parseRisk, rankOf } from "@postern/core";
import { believedRisk } from "../layers.ts";
import type { Facts } from "../policy.ts";
import { invalid } from "../problem.ts";
import { parsePath, wrong } from "../rules/argument-path.ts";
import type { CedarArguments } from "../schema.ts";
import { cedarKinds } from "./cedar-kinds.ts";

/** A value that Cedar accepts. */
export type CedarValue = string | number | boolean | readonly CedarValue[] | { readonly [name: string]: CedarValue };

/** The facts of one call, or why Cedar cannot receive them. */
export type CedarInput = { readonly context: { readonly [name: string]: CedarValue } } | { readonly refused: string };

const argumentName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** The Cedar schema of what Cedar receives, to write and validate policies against. */
export function cedarSchema(args: CedarArguments = {}): string {
  const fields = Object.entries(args).map(
    ([name, { kind }]) => `${name}${kind === "present" ? "" : "?"}: ${cedarKinds[kind].type}`,
  );
  return `namespace Postern {
  entity Agent = { tenant: String, agent: String, user?: String, groups: Set<String> };
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
export function cedarInput(args: CedarArguments): (facts: Facts) => CedarInput {
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
          : cedarKinds[kind].read(found === wrong ? null : (found as Json)); // not `wrong`, not undefined
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

/** Only the entities of this call, because passing them to Cedar costs most. */
export function cedarEntities({ tool, principal, suggestion }: Facts): readonly CedarEntity[] {
  const base = parseRisk(tool.risk);
  const suggested = suggestion?.risk === undefined ? base : parseRisk(suggestion.risk);
  const risk = base === undefined || suggested === undefined ? "critical" : believedRisk(tool, base, suggested);
  const { tenant, agent, user, groups = [] } = principal;
  return [
    {
      uid: { type: "Postern::Agent", id: JSON.stringify([tenant, agent]) },
      attrs: { tenant, agent, ...(user !== undefined && { user }), groups },
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
