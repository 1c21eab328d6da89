import type { ApprovalRecord, ToolCall, ToolOutcome } from "@postern/core";
import { arrivalOf } from "../call/arrival.ts";
import { isForeign } from "../call/authority.ts";
import type { Caller } from "../call/session.ts";
import type { Parts } from "./dependencies.ts";
import { invoke } from "./invoke.ts";

/** The id and time of the arrival that decides or resumes. */
export type Arrival = Pick<ToolCall, "id" | "arrivedAt">;

/** Runs the approved call once; each further resume replays its outcome. Returns undefined if there is no such approval, or it belongs to another principal. */
export async function resume(
  approvalId: string,
  arrival: Arrival,
  caller: Caller,
  parts: Parts,
): Promise<ToolOutcome | undefined> {
  const approval = await parts.approvals.get(approvalId);
  if (approval === undefined || isForeign(approval.principal, caller.asker)) return undefined;
  return invoke(await callToContinue(approval, arrival, parts), caller, parts);
}

/** The call to run: the script that waits for the approved call, which then makes that call; else the approved call itself. */
async function callToContinue(approval: ApprovalRecord, arrival: Arrival, parts: Parts): Promise<ToolCall> {
  const call = await parts.approvals.recorded(approval, arrival);
  if (call.parentId === undefined || call.authority.fromChain !== true) return call;
  const parent = await parts.ledger.find({ key: call.parentId });
  const parentSuspends = parent !== undefined && parts.tools.find(parent.call.tool, parent.call.action)?.suspends;
  return parentSuspends === true ? arrivalOf({ ...parent.call, ...arrival, resumes: parent.key }) : call;
}
