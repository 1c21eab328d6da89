import { counted, type ToolCall } from "@postern/core";
import { type Ending, refuse } from "../../call/ending.ts";
import type { Caller } from "../../call/session.ts";
import type { CountedCall } from "./stages.ts";

/**
 * Counts every arrival, also of unknown tools. Synchronous, so two parallel calls cannot both take the last place.
 * A call that enters again is not counted again.
 *
 * @param isAgain it has entered before, since it arrived
 */
export function spend(call: ToolCall, caller: Caller, isAgain: boolean): CountedCall | Ending {
  const refused = refusalOf(call, caller, isAgain);
  return refused === undefined ? (call as CountedCall) : { ...refused, uncounted: true };
}

function refusalOf(call: ToolCall, { session, isLate }: Caller, isAgain: boolean): Ending | undefined {
  if (isLate === true) return refuse("draining");
  if (session.closed)
    return refuse("session_closed", `Its session is closed, so \`${call.tool}\` was not run; open another one.`);
  if (session.remainingMs() <= 0) {
    return refuse(
      "budget_exhausted",
      `The session's total time of ${session.limits.totalTimeoutMs} ms is used up; finish with what you have.`,
    );
  }
  const empty = isAgain || call.resumes !== undefined ? undefined : session.spend();
  if (empty === undefined) return undefined;
  return refuse(
    "budget_exhausted",
    `The budget of ${counted(empty.maxToolCalls, "call")} is used up; finish with what you have.`,
  );
}

/** For `explain`, `simulate` and edits, which are not counted and run nothing. */
export function uncountedCall(call: ToolCall): CountedCall {
  return call as CountedCall;
}
