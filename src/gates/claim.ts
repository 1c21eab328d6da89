import type { Clock } from "../calls/clock.ts";
import { type Ending, refuse } from "../calls/ending.ts";
import { RuntimeFault } from "../calls/fault.ts";
import type { Caller } from "../calls/session.ts";
import type { Claim, Ledger } from "../ledger/ledger.ts";
import { replay } from "./once.ts";
import type { ApprovedCall, ClaimedCall } from "./stages.ts";

export interface ClaimParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
}

/** The last look at the signal, then ONE conditional write: attempted, approval used, event. No claim, no effect. */
export function claim(
  call: ApprovedCall,
  caller: Caller,
  parts: ClaimParts,
): ClaimedCall | Ending | Promise<ClaimedCall | Ending> {
  if (caller.signal?.aborted === true) return refuse("cancelled");
  if (caller.deadline !== undefined && caller.deadline <= parts.clock.monotonic())
    return refuse("cancelled", "The caller's deadline is over; the tool was not run.");
  const made = parts.ledger.claim(call);
  if (made instanceof Promise) return made.then((late) => judge(call, late, parts), unwritten);
  return judge(call, made, parts);
}

function judge(call: ApprovedCall, { claimed, ...lost }: Claim, parts: ClaimParts): ClaimedCall | Ending {
  if (claimed !== undefined) return Object.assign(call, { claimed, claimedAt: parts.clock.monotonic() }) as ClaimedCall;
  const { call: prior, approval } = lost as Exclude<Claim, { readonly claimed: object }>; // `claimed` is undefined
  const answer = prior && replay(prior, parts.clock.now());
  if (answer !== undefined) return answer;
  if (approval !== undefined && approval.state !== "used") return refuse("approval_expired");
  return refuse("in_progress");
}

/** Nothing was written, so nobody is asked and nothing may run (D21). */
export function unwritten(error: unknown): Ending {
  return refuse(error instanceof RuntimeFault && error.code === "overloaded" ? "overloaded" : "audit_unavailable");
}
