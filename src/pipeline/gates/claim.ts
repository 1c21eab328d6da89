import { arrivalOf } from "../../core/arrival.ts";
import type { ToolCall } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import { type Ending, refuse } from "../../core/ending.ts";
import { RuntimeFault } from "../../core/fault.ts";
import type { Caller } from "../../core/session.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import type { Claim, Ledger } from "../ledger.ts";
import { UsedArtifacts } from "../result-bytes.ts";
import { inProgress, replay } from "./once.ts";
import type { Again, ApprovedCall, ClaimedCall } from "./stages.ts";

export interface ClaimParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
}

/**
 * Checks the signal a last time, then makes one conditional write: attempted, approval used, event. No tool runs without
 * a claim. A call enters again if the past calls that its verdict depends on have changed.
 */
export async function claim(
  call: ApprovedCall,
  caller: Caller,
  parts: ClaimParts,
): Promise<ClaimedCall | Again | Ending> {
  const left = callerGone(call, caller, parts.clock);
  if (left !== undefined) return left;
  try {
    return await judge(call, await parts.ledger.claim(call), parts);
  } catch (error) {
    return storeFailure(error);
  }
}

/** Returns an ending if the caller has cancelled the call or its deadline has passed. */
export function callerGone(
  { tool }: Pick<ToolCall, "tool">,
  { signal, deadline }: Pick<Caller, "signal" | "deadline">,
  clock: Clock,
): Ending | undefined {
  if (signal?.aborted === true) return refuse("cancelled", `The caller cancelled the call before \`${tool}\` was run.`);
  const lateMs = deadline === undefined ? -1 : clock.monotonic() - deadline;
  if (lateMs < 0) return undefined;
  const message = `The caller's deadline passed ${Math.round(lateMs)} ms ago; \`${tool}\` was not run.`;
  return refuse("cancelled", message);
}

async function judge(call: ApprovedCall, made: Claim, parts: ClaimParts): Promise<ClaimedCall | Again | Ending> {
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
  if (made.moved === true) return { again: arrivalOf({ ...call, resumes: call.key }) };
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

/** The ending of a call that could not be written: no request is made and no tool runs. */
export function storeFailure(error: unknown): Ending {
  if (!(error instanceof RuntimeFault)) return refuse("audit_unavailable");
  if (error.code === "overloaded") return refuse("overloaded", `${error.message} The tool was not run.`);
  if (error.code === "store_lost") return refuse("store_lost", `${error.message} The tool was not run.`);
  return refuse("audit_unavailable", `Nothing can be recorded now (\`${error.code}\`), so the tool was not run.`);
}
