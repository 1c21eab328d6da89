import type { Remember } from "../../approvals/grant.ts";
import { toCamelCase } from "../../core/case.ts";
import { given } from "../../core/given.ts";
import type { Conditions } from "../../policy/rules/condition.ts";
import { policyOpaque } from "../../policy/schema.ts";
import type { RememberBody } from "../contract/grants.ts";

/** What a decision is to be remembered for. Its conditions are checked where they are compiled. */
export function rememberOf({ scope, for: span, reason }: RememberBody): Remember {
  if (scope === undefined) return { for: span, reason };
  const { tool, action, arguments: conditions } = scope;
  const inside = conditions && (toCamelCase(conditions, policyOpaque) as Conditions); // compileConditions judges it
  return { scope: given({ tool, action, arguments: inside }), for: span, reason };
}
