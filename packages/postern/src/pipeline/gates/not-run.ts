/** Endings that several gates give. */

import { type Clock, RuntimeFault, type ToolCall } from "@postern/core";
import { type Ending, refuse } from "../../call/ending.ts";
import type { Caller } from "../../call/session.ts";

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

/** The ending of a call that could not be written: no request is made and no tool runs. */
export function storeFailure(error: unknown): Ending {
  if (!(error instanceof RuntimeFault)) return refuse("audit_unavailable");
  if (error.code === "overloaded") return refuse("overloaded", `${error.message} The tool was not run.`);
  if (error.code === "store_lost") return refuse("store_lost", `${error.message} The tool was not run.`);
  return refuse("audit_unavailable", `Nothing can be recorded now (\`${error.code}\`), so the tool was not run.`);
}
