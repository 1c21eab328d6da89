import type { ApprovalRecord, CallRecord, JsonObject } from "@postern/core";

/** Reads the approval of a recorded call; a store. */
export interface ApprovalReader {
  approval(id: string): ApprovalRecord | undefined | Promise<ApprovalRecord | undefined>;
}

/**
 * The arguments that ran, or, for a call that never began, those that people were last asked about. The row itself
 * keeps the arguments as sent, also after an edit.
 */
export async function finalArguments(record: CallRecord, store: ApprovalReader): Promise<JsonObject> {
  const { approvalId, call } = record;
  const approval = approvalId === undefined ? undefined : await store.approval(approvalId);
  return (approval && approvedFor(record, approval)) ?? call.arguments;
}

/** Returns undefined when the call began without this approval. */
export function approvedFor(
  { startedAt }: CallRecord,
  { state, arguments: given }: ApprovalRecord,
): JsonObject | undefined {
  return startedAt === undefined || state === "used" ? given : undefined;
}
