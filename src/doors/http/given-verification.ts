import type { Verdict, Verification } from "../../audit/log.ts";
import type { verification } from "../contract/audit.ts";
import type { Given } from "../contract/route.ts";

/** What a verification found, in the form of the contract. */
export function givenVerification(found: Verification & Partial<Verdict>): Given<typeof verification> {
  return found.intact ? found : { ...found, first_broken: found.firstBroken };
}
