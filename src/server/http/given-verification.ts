import type { LogVerdict, Verification } from "../../audit/log.ts";
import type { verification } from "../contract/audit.ts";
import type { Input } from "../contract/route.ts";

/** What a verification found, in the form of the contract. */
export function givenVerification(found: Verification & Partial<LogVerdict>): Input<typeof verification> {
  return found.intact ? found : { ...found, first_broken: found.firstBroken };
}
