import type { Rule, SandboxConstraint } from "./rule-schema.ts";

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
