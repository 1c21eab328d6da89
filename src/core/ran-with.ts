import type { JsonObject } from "./json.ts";
import type { ApprovalRecord, CallRecord } from "./records.ts";

/** Reads what a row's call was approved with; a store. */
export interface ApprovalReader {
  approval(id: string): ApprovalRecord | undefined | Promise<ApprovalRecord | undefined>;
}

/**
 * The arguments of a recorded call that count: those that ran, and of one that never began what people were last asked
 * about. A row keeps what was sent, also where a person has changed it.
 */
export async function countingArguments(record: CallRecord, store: ApprovalReader): Promise<JsonObject> {
  const { approvalId, call } = record;
  const approval = approvalId === undefined ? undefined : await store.approval(approvalId);
  return (approval && approvedFor(record, approval)) ?? call.arguments;
}

/** Undefined: it began without that approval, which another time was the call's. */
export function approvedFor(
  { startedAt }: CallRecord,
  { state, arguments: given }: ApprovalRecord,
): JsonObject | undefined {
  return startedAt === undefined || state === "used" ? given : undefined;
}
