import type { Verdict } from "../calls/call.ts";
import type { Decision } from "./policy.ts";

const meanings: Readonly<Record<Verdict | "DENY", string>> = {
  ALLOW: "it runs unasked",
  CONFIRM: "a person is asked first",
  PREVIEW: "it is shown, not run",
  BLOCK: "it is refused, whatever a person says",
  DENY: "it is not permitted",
};

/** A decision as lines for people: the answer, then every rule that shaped it, then the policy it was made under. */
export function describe(decision: Decision): string[] {
  const { verdict, risk, reasons, policyVersion } = decision;
  return [
    `${verdict}: ${meanings[verdict]} (risk ${risk})`,
    ...reasons.map(({ rule, says, where }) => `  ${says.padEnd(7)} ${rule}${where === undefined ? "" : ` [${where}]`}`),
    `  policy  ${policyVersion.slice(0, 12)}`,
  ];
}
