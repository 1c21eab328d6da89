/**
 * Where an approved call runs: in this process (execute.ts, settle.ts) or on a worker.
 *
 * Invariant: the process that claims a call also runs and settles it, so one process owns an attempted row. After the
 * claim there are only outcomes.
 */

import type { ToolOutcome } from "@postern/core";
import type { Ending } from "../call/ending.ts";
import type { Caller } from "../call/session.ts";
import type { Again, ApprovedCall } from "./gates/stages.ts";

export interface Executor {
  carryOut(call: ApprovedCall, caller: Caller): Promise<ToolOutcome | Again | Ending>;
}
