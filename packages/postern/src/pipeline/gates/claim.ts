import type { Clock } from "@postern/core";
import { enteringAgain } from "../../call/arrival.ts";
import { type Ending, refuse } from "../../call/ending.ts";
import type { Caller } from "../../call/session.ts";
import type { CurrentPolicy } from "../../policy/current-policy.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import type { Claim, Ledger } from "../ledger.ts";
import { UsedArtifacts } from "../result-bytes.ts";
import { callerGone, storeFailure } from "./not-run.ts";
import { inProgress, replay } from "./once.ts";
import type { Again, ApprovedCall, ClaimedCall } from "./stages.ts";

export interface ClaimParts {
  readonly policy: CurrentPolicy;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
}

/**
 * Checks the signal a last time, then makes one conditional write: attempted, approval used, event. No tool runs without
 * a claim. A call enters again if the policy or the past calls that its verdict depends on have changed.
 */
export async function claim(
  call: ApprovedCall,
  caller: Caller,
  parts: ClaimParts,
): Promise<ClaimedCall | Again | Ending> {
  const left = callerGone(call, caller, parts.clock);
  if (left !== undefined) return left;
  if (call.judgedBy !== parts.policy.now) return { again: enteringAgain(call) };
  try {
    return await claimOrEnd(call, await parts.ledger.claim(call), parts);
  } catch (error) {
    return storeFailure(error);
  }
}

async function claimOrEnd(call: ApprovedCall, made: Claim, parts: ClaimParts): Promise<ClaimedCall | Again | Ending> {
  const { claimed } = made;
  if (claimed !== undefined)
    // The content of artifacts may be large, and the tool reads it itself.
    return {
      ...call,
      resolved: undefined,
      claimed,
      claimedAt: parts.clock.monotonic(),
      artifacts: new UsedArtifacts(),
    } as unknown as ClaimedCall;
  if (made.pastChanged === true) return { again: enteringAgain(call) };
  const { call: prior, approval } = made;
  const answer = await replay(prior, parts);
  if (answer !== undefined) return answer;
  if (approval !== undefined && approval.state !== "used")
    return refuse(
      "approval_expired",
      `The approval \`${approval.id}\` is ${approval.state}, and held until ${new Date(approval.expiresAt).toISOString()}; \`${call.tool}\` was not run. Send the call again to ask again.`,
      { approval_id: approval.id },
    );
  return inProgress(prior);
}
