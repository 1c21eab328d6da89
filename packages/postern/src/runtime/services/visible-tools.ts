/** Which tools a caller sees: at most those it can call, fewer if its run is limited to skills. */

import { type Clock, checkMember, type Principal } from "@postern/core";
import { checkPrincipal, runOfTheDay } from "../../call/authority.ts";
import type { VerdictParts } from "../../pipeline/gates/verdict.ts";
import { skillsForbid } from "../../policy/rules/skill-layer.ts";
import type { Registry } from "../../tools/registry.ts";
import type { Offer } from "../../tools/tool.ts";

export interface OfferingParts extends Pick<VerdictParts, "policy" | "skills"> {
  readonly clock: Clock;
}

/** The viewer. Without a principal all tools are visible; without a run the run of the day counts. */
export interface ToolViewer {
  readonly principal: Principal | undefined;
  readonly runId: string | undefined;
}

/** @throws RuntimeFault `context_invalid` */
export function visibleTo(
  { principal, runId }: ToolViewer,
  tools: Pick<Registry, "offers">,
  { policy, skills, clock }: OfferingParts,
): readonly Offer[] {
  const actions = tools.offers();
  if (principal !== undefined) checkPrincipal(principal);
  if (runId !== undefined) checkMember("runId", runId, "a text", "context_invalid");
  if (principal === undefined) return actions;
  const active = skills?.activeFor(principal.tenant, runId ?? runOfTheDay(principal, clock.now()), principal.agent);
  return actions.filter(
    ({ facts }) =>
      policy.now.policy.offers(principal, facts) && (active === undefined || skillsForbid(active, facts) === undefined),
  );
}
