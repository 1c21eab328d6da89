import type { Risk } from "../../core/call.ts";
import { rankOf } from "../../core/risk.ts";
import { invalid } from "../problem.ts";

/**
 * The risk up to which nobody is asked (SPEC 6.5). Above `high` only for those who say so: critical always asks (C5).
 *
 * @throws RuntimeFault `policy_invalid`
 */
export function checkedThreshold(risk: Risk, allowUnattendedCritical: boolean): Risk {
  if (risk === "critical" && !allowUnattendedCritical)
    throw invalid(
      "`maxRiskUnapproved` is `critical`: then nobody is ever asked. Lower it, or set `allowUnattendedCritical` as well.",
    );
  return risk;
}

/**
 * An agent's `approval_required_risk` asks at or above it, as a threshold: critical → high, high → safe (SPEC 6.5).
 *
 * @throws RuntimeFault `policy_invalid`: asking before safe calls too is no threshold but a rule
 */
export function thresholdFor(approvalRequired: Risk): Risk {
  if (approvalRequired === "critical") return "high";
  if (approvalRequired === "high" || approvalRequired === "medium") return "safe";
  throw invalid("`approval_required_risk` is `safe`; to ask before every call write a rule with the effect `confirm`.");
}

/** The lower of two thresholds, for a session may only narrow (C19); a missing one does not lower. */
export function lowerThreshold(one: Risk | undefined, other: Risk | undefined): Risk | undefined {
  if (one === undefined) return other;
  if (other === undefined) return one;
  return rankOf(one) <= rankOf(other) ? one : other;
}
