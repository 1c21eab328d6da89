import type { CallRecord } from "@postern/core";
import type { Caller } from "../call/session.ts";
import type { Action, Reconciled, ToolContext } from "../tools/tool.ts";
import type { ClaimedCall } from "./gates/stages.ts";

/**
 * Other processes that run tools. Claim and settle stay in this process; only the run itself is sent.
 * Next: workers/dispatcher.ts.
 */
export interface Workers {
  /** The group that runs the action. Returns undefined if it runs in this process. */
  groupOf(action: Pick<Action, "tool" | "name">): string | undefined;
  /**
   * Runs the tool there. Rejects as the tool would; with `notExecuted` if no worker began, and with `unknown` if a worker
   * began and does not answer.
   */
  run(call: ClaimedCall, caller: Caller, context: ToolContext): Promise<unknown>;
  /** How a call ended that this process did not see end. */
  endOf(record: CallRecord): Promise<Reconciled>;
}
