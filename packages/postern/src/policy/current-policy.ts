import type { Autonomy, Risk } from "@postern/core";
import { createPolicy, type PolicyOptions } from "./decide.ts";
import { type Guardrail, type Guardrails, openGuardrails } from "./guardrails/guardrails.ts";
import { ownPolicy } from "./own-policy.ts";
import type { Policy } from "./policy.ts";
import { withThreshold } from "./risk/threshold.ts";

/** Everything that an operator writes to decide about calls. */
export interface PolicySet {
  readonly policy: Policy;
  /** What the policy was made from, for reports. */
  readonly given: PolicyOptions | Policy;
  readonly guardrails: Guardrails | undefined;
  readonly givenGuardrails: readonly Guardrail[];
  /** The configured level. It holds until an operator sets one. */
  readonly autonomy: Autonomy | undefined;
}

/**
 * The policy in force. It is replaced as a whole, while calls are on their way.
 *
 * Invariant: a call starts only under the set that it was judged by. The gates read `now` once a pass, and `claim` sends a
 * call back if `now` has changed. So no call starts under an old policy once `replace` has returned.
 */
export class CurrentPolicy {
  #now: PolicySet;

  constructor(first: PolicySet) {
    this.#now = first;
  }

  get now(): PolicySet {
    return this.#now;
  }

  /** A digest of what shapes a decision. Records name it. */
  get version(): string {
    return this.#now.policy.version;
  }

  replace(next: PolicySet): void {
    this.#now = next;
  }
}

/** What a set is made from. */
export interface PolicyParts {
  readonly policy?: PolicyOptions | Policy;
  readonly guardrails?: readonly Guardrail[];
  readonly autonomy?: Autonomy | undefined;
}

/**
 * @param most the threshold of the runtime's limits, for a policy that states none
 * @throws RuntimeFault `policy_invalid`, `options_invalid`; what a guardrail's `ready` throws
 */
export async function openPolicySet(
  { policy: given = {}, guardrails: givenGuardrails = [], autonomy }: PolicyParts,
  most: Risk | undefined,
): Promise<PolicySet> {
  const policy = "decide" in given ? ownPolicy(given) : createPolicy(withThreshold(given, most));
  return { policy, given, guardrails: await openGuardrails(givenGuardrails), givenGuardrails, autonomy };
}
