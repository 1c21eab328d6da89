/** Checks every answer of a policy in the application's code before Postern uses it. */

import { RuntimeFault, risks, shown, verdicts } from "@postern/core";
import { keyText } from "../checks/schema-problems.ts";
import { lazySchema } from "../checks/zod.ts";
import type { Decision, Policy } from "./policy.ts";

const decisionSchema = lazySchema((zod) => {
  const outcomes = [...verdicts, "DENY"] as const;
  const text = zod.string("a text");
  const effect = zod.enum([...outcomes, "RAISE"], `one of ${[...outcomes, "RAISE"].join(", ")}`);
  const reason = zod.object({ rule: text, effect, where: text.optional() }, "{ rule, effect, where? }");
  return zod.object(
    {
      verdict: zod.enum(outcomes, `one of ${outcomes.join(", ")}`),
      risk: zod.enum(risks, `one of ${risks.join(", ")}`),
      reasons: zod.array(reason, "a list of one or more").min(1, "a list of one or more"),
      policyVersion: text,
      connector: text.optional(),
      missingScope: text.optional(),
    },
    "a decision, not a promise of one",
  );
});

/**
 * The same policy with checked answers. A wrong answer is a fault that ends the call as `internal`.
 *
 * @throws RuntimeFault `policy_invalid` if it is not a policy
 */
export function ownPolicy(policy: Policy): Policy {
  const { version } = policy;
  if (typeof version !== "string" || version === "") throw invalid("policy.version", version, "a text");
  for (const name of ["decide", "offers"] as const)
    if (typeof policy[name] !== "function") throw invalid(`policy.${name}`, policy[name], "a function");
  return {
    // Read each time, because a policy may change while it runs.
    get version() {
      return policy.version;
    },
    get reads() {
      return policy.reads;
    },
    ...(policy.readsFor !== undefined && { readsFor: (tool) => policy.readsFor?.(tool) }),
    decide: (facts) => checked(policy.decide(facts)),
    offers: (principal, tool) => policy.offers(principal, tool) === true,
    ...(policy.effective !== undefined && { effective: policy.effective.bind(policy) }),
  };
}

function checked(decision: Decision): Decision {
  const [issue] = decisionSchema().safeParse(decision).error?.issues ?? [];
  if (issue === undefined) return decision;
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  const value = path.reduce<unknown>((whole, step) => Object(whole)[step], decision);
  throw invalid(`decide(…)${path.length === 0 ? "" : `.${keyText(path)}`}`, value, issue.message);
}

function invalid(place: string, value: unknown, wanted: string): RuntimeFault {
  return new RuntimeFault("policy_invalid", `\`${place}\` of the policy is ${shown(value)}; it must be ${wanted}.`);
}
