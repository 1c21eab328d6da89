import { type Ending, refuse } from "../../call/ending.ts";
import type { RunOwners } from "../run-owners.ts";
import { storeFailure } from "./not-run.ts";
import type { CountedCall } from "./stages.ts";

export interface RunParts {
  readonly runs: RunOwners;
}

/**
 * Part of the budget gate. A run belongs to the first principal that used it, so no other principal spends, reads or
 * writes in it. Returns undefined when the run is the caller's own.
 */
export async function ownRun(call: CountedCall, { runs }: RunParts): Promise<Ending | undefined> {
  try {
    return (await runs.claims(call.authority)) ? undefined : foreignRun(call);
  } catch (error) {
    return storeFailure(error);
  }
}

/** For `explain`, which opens no run. */
export async function mayAsk(call: CountedCall, { runs }: RunParts): Promise<Ending | undefined> {
  return (await runs.mayUse(call.authority)) ? undefined : foreignRun(call);
}

function foreignRun({ authority: { runId } }: CountedCall): Ending {
  return refuse(
    "run_foreign",
    `Run \`${runId}\` belongs to another principal; leave the run out, or name one of your own.`,
  );
}
