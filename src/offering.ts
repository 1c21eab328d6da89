/** What is shown of the tools: never more than a call could reach, and less where the run is held to skills. */
import { runOfTheDay } from "./calls/authority.ts";
import type { Principal } from "./calls/call.ts";
import type { Clock } from "./calls/clock.ts";
import type { VerdictParts } from "./gates/verdict.ts";
import { skillsForbid } from "./policy/skill-layer.ts";
import type { Offer } from "./tools/tool.ts";

export interface OfferingParts extends Pick<VerdictParts, "policy" | "skills"> {
  readonly clock: Clock;
}

/** @param runId none: the principal's run of the day, where calls that name no run go */
export function offeredTo(
  principal: Principal,
  runId: string | undefined,
  actions: readonly Offer[],
  { policy, skills, clock }: OfferingParts,
): readonly Offer[] {
  const active = skills?.activeFor(principal.tenant, runId ?? runOfTheDay(principal, clock.now()));
  return actions.filter(
    ({ facts }) => policy.offers(principal, facts) && (active === undefined || !skillsForbid(active, facts)),
  );
}
