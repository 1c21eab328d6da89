/** A policy of the operator's own code: what it answers is looked at before anything is decided, or written, by it. */
import { RuntimeFault } from "../core/fault.ts";
import { parseRisk } from "../core/risk.ts";
import { shown } from "../core/shown.ts";
import type { Decision, Policy } from "./policy.ts";

const verdicts: readonly unknown[] = ["ALLOW", "PREVIEW", "CONFIRM", "BLOCK", "DENY"];
const words: readonly unknown[] = [...verdicts, "RAISE"];

/**
 * The same policy, whose answers are decisions, or a fault that ends the call as `internal`.
 *
 * @throws RuntimeFault `policy_invalid` when it is none
 */
export function ownPolicy(policy: Policy): Policy {
  const { version } = policy;
  if (typeof version !== "string" || version === "")
    throw new RuntimeFault("policy_invalid", `\`policy.version\` is ${shown(version)}; it must be a text.`);
  for (const name of ["decide", "offers"] as const)
    if (typeof policy[name] !== "function")
      throw new RuntimeFault("policy_invalid", `\`policy.${name}\` is ${shown(policy[name])}; it must be a function.`);
  return {
    // Asked each time: a policy may be changed under way.
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
  if (typeof decision !== "object" || decision === null) throw wrong("", decision, "a decision, and no promise of one");
  const { verdict, risk, reasons, policyVersion, connector, missingScope } = decision;
  if (!verdicts.includes(verdict)) throw wrong(".verdict", verdict, `one of ${verdicts.join(", ")}`);
  if (parseRisk(risk) !== risk) throw wrong(".risk", risk, "safe, medium, high or critical");
  if (!Array.isArray(reasons) || reasons.length === 0) throw wrong(".reasons", reasons, "a list of one or more");
  for (const [i, reason] of reasons.entries()) checkReason(reason, `.reasons[${i}]`);
  if (typeof policyVersion !== "string") throw wrong(".policyVersion", policyVersion, "a text");
  if (connector !== undefined && typeof connector !== "string") throw wrong(".connector", connector, "a text");
  if (missingScope !== undefined && typeof missingScope !== "string")
    throw wrong(".missingScope", missingScope, "a text");
  return decision;
}

function checkReason(reason: unknown, place: string): void {
  if (typeof reason !== "object" || reason === null) throw wrong(place, reason, "{ rule, says, where? }");
  const { rule, says, where } = reason as Readonly<Record<string, unknown>>; // any member of an object may be asked for
  if (typeof rule !== "string") throw wrong(`${place}.rule`, rule, "a text");
  if (!words.includes(says)) throw wrong(`${place}.says`, says, `one of ${words.join(", ")}`);
  if (where !== undefined && typeof where !== "string") throw wrong(`${place}.where`, where, "a text");
}

function wrong(place: string, value: unknown, wanted: string): RuntimeFault {
  return new RuntimeFault(
    "policy_invalid",
    `\`decide(…)${place}\` of the policy is ${shown(value)}; it must be ${wanted}.`,
  );
}
