/** How a held call ends when its request ends without an approval. */
import { type ApprovalRecord, asSentence, type ToolOutcome } from "@postern/core";
import { outcomeOf, refuse } from "../call/ending.ts";

/** The outcome of a held call when its request expires. */
export function expiredOutcome(callId: string, of: Pick<ApprovalRecord, "id" | "expiresAt">): ToolOutcome {
  return { ...outcomeOf(callId, refuse(...refusalOf({ ...of, state: "expired" }, "", ""))), approvalId: of.id };
}

/** The outcome of the held call. If the request was not denied, the same call may ask again. */
export function deniedOutcome(callId: string, { id, state, decision, expiresAt }: ApprovalRecord): ToolOutcome {
  const { by = "", reason } = decision ?? {};
  const why = reason === undefined || reason.trim() === "" ? "" : ` Reason: ${asSentence(reason)}`;
  const ended = refuse(...refusalOf({ id, state, expiresAt }, by, why));
  return { ...outcomeOf(callId, ended), approvalId: id };
}

function refusalOf(
  { id, state, expiresAt }: Pick<ApprovalRecord, "id" | "state" | "expiresAt">,
  by: string,
  why: string,
): Parameters<typeof refuse> {
  switch (state) {
    case "denied":
      return ["approval_denied", `A person (${by}) denied this call; it was not run.${why}`];
    case "skipped":
      return ["approval_skipped", `Skipped by ${by}: continue without it.${why}`];
    case "expired":
      return [
        "approval_expired",
        `The approval request \`${id}\` expired at ${new Date(expiresAt).toISOString()}, so the call was not run. Send the call again to ask again.`,
      ];
    default:
      return ["approval_withdrawn", `The request for approval was withdrawn by ${by}; the call was not run.${why}`];
  }
}
