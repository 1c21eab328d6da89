import { PolicyInForce } from "../../packages/postern/src/config/policy-in-force.ts";
import type { ReadConfig } from "../../packages/postern/src/config/settings.ts";
import type { PolicyReplacement } from "../../packages/postern/src/runtime/api/policy-api.ts";

const plain: ReadConfig = { policy: {}, guardrails: [], autonomy: "A2", sections: {} };

/**
 * A policy in force without a runtime.
 *
 * @param read what the configuration says when it is read again; by default the same
 */
export function fakePolicyInForce(read: (text?: string) => Promise<ReadConfig> = async () => plain): {
  readonly inForce: PolicyInForce;
  readonly replaced: PolicyReplacement[];
} {
  const replaced: PolicyReplacement[] = [];
  const replace = async (next: PolicyReplacement) => {
    replaced.push(next);
    return { before: "p1", after: `p${replaced.length + 1}`, changes: ["It changed."] };
  };
  const compare = async () => ({ before: "p1", after: "p1", changes: [] });
  return { inForce: new PolicyInForce({ started: plain, read, policy: { replace, compare } }), replaced };
}
