/**
 * How an approved call is carried out: here (execute.ts, settle.ts), or on a worker.
 *
 * Invariant: whoever runs it claims it and settles it, so that one process alone ever owns an attempted row; after the
 * claim there are outcomes only.
 */
import type { Ending } from "../core/ending.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { Caller } from "../core/session.ts";
import type { Again, ApprovedCall } from "./gates/stages.ts";

export interface Executor {
  carryOut(call: ApprovedCall, caller: Caller): Promise<ToolOutcome | Again | Ending>;
}
