import type { Rule } from "./rules.ts";

/**
 * Where a tool's path may lie, whatever the configuration allows (SPEC 5.2, 5.3). The guard beneath a file tool enforces
 * the same on the file system; here it is known before anybody is asked.
 */
export interface SandboxConstraint {
  /** Name or pattern. */
  readonly tool?: string;
  readonly server?: string;
  /** Left out: whatever the tool does. `write` alone constrains no reading. */
  readonly effects?: NonNullable<Rule["effects"]>;
  /** Path into the arguments, `$.path` for example. */
  readonly argument: string;
  /** Path patterns; outside all of them is denied. An argument that is not there stays with the tool's own default. */
  readonly within: readonly string[];
  readonly relativeTo?: string;
  /** Its place in a file. */
  readonly where?: string;
  /** It may match no tool: nobody is warned. */
  readonly optional?: boolean;
}

/** Each constraint as a rule that denies. */
export function sandboxRules(constraints: readonly SandboxConstraint[]): readonly Rule[] {
  return constraints.map(({ argument, within, relativeTo, optional: _optional, ...rest }): Rule => {
    const inside = { path: within, ...(relativeTo !== undefined && { relativeTo }) };
    const many = argument.indexOf("[*]");
    return {
      ...rest,
      effect: "deny",
      arguments:
        many < 0
          ? { [argument]: { present: true, not: inside } }
          : { [argument.slice(0, many)]: { present: true }, [argument]: { not: inside } },
      reason: `\`${argument}\` must lie within ${within.join(", ") || "nothing"}`,
    };
  });
}
