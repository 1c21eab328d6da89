import { type Risk, rankOf, thresholdBelow } from "@postern/core";
import { invalid } from "../problem.ts";

/**
 * The risk up to which a call runs without a person. `critical` needs `allowUnattendedCritical`.
 *
 * @throws RuntimeFault `policy_invalid`
 */
function checkedThreshold(risk: Risk, allowUnattendedCritical: boolean): Risk {
  if (risk === "critical" && !allowUnattendedCritical)
    throw invalid(
      "`maxRiskUnapproved` is `critical`: then no call asks a person. Lower it, or set `allowUnattendedCritical` as well.",
    );
  return risk;
}

/** @throws RuntimeFault `policy_invalid` for `safe`, because asking before every call is a rule and no threshold */
function thresholdFor(approvalRequired: Risk): Risk {
  const threshold = thresholdBelow(approvalRequired);
  if (threshold !== undefined) return threshold;
  throw invalid("`approvalRequiredRisk` is `safe`; to ask before every call write a rule with the effect `confirm`.");
}

interface Thresholds {
  readonly maxRiskUnapproved?: Risk;
  readonly approvalRequiredRisk?: Risk;
  readonly allowUnattendedCritical?: boolean;
}

/**
 * The threshold that a policy states, in one of the two ways.
 *
 * @throws RuntimeFault `policy_invalid`
 */
export function statedThreshold(stated: Thresholds): Risk | undefined {
  const { maxRiskUnapproved, approvalRequiredRisk, allowUnattendedCritical = false } = stated;
  if (approvalRequiredRisk === undefined)
    return maxRiskUnapproved === undefined ? undefined : checkedThreshold(maxRiskUnapproved, allowUnattendedCritical);
  if (maxRiskUnapproved === undefined) return thresholdFor(approvalRequiredRisk);
  throw invalid("`maxRiskUnapproved` and `approvalRequiredRisk` say the same in two ways; keep one.");
}

/** A policy with the threshold of the runtime's limits, if it states none itself. */
export function withThreshold<Options extends Thresholds>(options: Options, most: Risk | undefined): Options {
  const isStated = options.maxRiskUnapproved !== undefined || options.approvalRequiredRisk !== undefined;
  return isStated || most === undefined ? options : { ...options, maxRiskUnapproved: most };
}

/** The lower of two thresholds, because a session may only narrow. A missing one does not lower. */
export function lowerThreshold(one: Risk | undefined, other: Risk | undefined): Risk | undefined {
  if (one === undefined) return other;
  if (other === undefined) return one;
  return rankOf(one) <= rankOf(other) ? one : other;
}
