import type { Risk } from "../../core/call.ts";
import { rankOf } from "../../core/risk.ts";
import { invalid } from "../problem.ts";

/**
 * The risk up to which a call runs without a person. `critical` needs `allowUnattendedCritical`.
 *
 * @throws RuntimeFault `policy_invalid`
 */
export function checkedThreshold(risk: Risk, allowUnattendedCritical: boolean): Risk {
  if (risk === "critical" && !allowUnattendedCritical)
    throw invalid(
      "`maxRiskUnapproved` is `critical`: then no call asks a person. Lower it, or set `allowUnattendedCritical` as well.",
    );
  return risk;
}

/**
 * `approval_required_risk` asks at that risk and above. As a threshold: critical → high, high → safe.
 *
 * @throws RuntimeFault `policy_invalid` for `safe`, because asking before every call is a rule and no threshold
 */
export function thresholdFor(approvalRequired: Risk): Risk {
  if (approvalRequired === "critical") return "high";
  if (approvalRequired === "high" || approvalRequired === "medium") return "safe";
  throw invalid("`approval_required_risk` is `safe`; to ask before every call write a rule with the effect `confirm`.");
}

/** The lower of two thresholds, because a session may only narrow. A missing one does not lower. */
export function lowerThreshold(one: Risk | undefined, other: Risk | undefined): Risk | undefined {
  if (one === undefined) return other;
  if (other === undefined) return one;
  return rankOf(one) <= rankOf(other) ? one : other;
}
