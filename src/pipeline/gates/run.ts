import { type Ending, refuse } from "../../core/ending.ts";
import type { RunOwners } from "../run-owners.ts";
import { storeFailure } from "./claim.ts";
import type { CountedCall } from "./stages.ts";

export interface RunParts {
  readonly runs: RunOwners;
}

/**
 * A part of the budget gate: a run is its first principal's, so nobody spends, reads or writes in another one's.
 * Undefined: it is the caller's own.
 */
export async function ownRun(call: CountedCall, { runs }: RunParts): Promise<Ending | undefined> {
  try {
    return (await runs.claims(call.authority)) ? undefined : foreign(call);
  } catch (error) {
    return storeFailure(error);
  }
}

/** For a question, which opens no run. */
export async function mayAsk(call: CountedCall, { runs }: RunParts): Promise<Ending | undefined> {
  return (await runs.mayUse(call.authority)) ? undefined : foreign(call);
}

function foreign({ authority: { runId } }: CountedCall): Ending {
  return refuse(
    "run_foreign",
    `Run \`${runId}\` belongs to another principal; leave the run out, or name one of your own.`,
  );
}
