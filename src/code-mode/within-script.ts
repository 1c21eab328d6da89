import type { Authority, Risk } from "../core/call.ts";
import { lowerThreshold } from "../policy/risk/threshold.ts";

/**
 * What a script's calls may do: what its caller may, and not all of that. Where no autonomy level decides, the threshold of
 * a script is `safe` (SPEC 3.9), whatever it is for direct calls; only the operator's own word for scripts is another one.
 * A caller's limit, which its authority carries, is a ceiling: it lowers either, and raises neither.
 *
 * @param forScripts what `chains.limits` says
 */
export function withinScript(authority: Authority, forScripts: Risk | undefined): Authority {
  const set = forScripts ?? (authority.autonomy === undefined ? "safe" : undefined);
  const maxRiskUnapproved = lowerThreshold(set, authority.maxRiskUnapproved);
  return { ...authority, fromChain: true, ...(maxRiskUnapproved !== undefined && { maxRiskUnapproved }) };
}
