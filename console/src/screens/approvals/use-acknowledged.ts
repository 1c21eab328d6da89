import { useState } from "react";
import type { ApprovalView } from "../../api/approvals.ts";

export interface Acknowledged {
  /** What the person has seen and means when they decide. */
  readonly meant: ApprovalView | undefined;
  /** What would run is another than that. */
  readonly isChanged: boolean;
  /** They have seen this one now. */
  readonly acknowledge: (approval: ApprovalView) => void;
}

/** A request may change under the eyes of who decides it: an edit, another preview, risk or route. They mean what they saw until they say that they saw the new one. */
export function useAcknowledged(now: ApprovalView | undefined): Acknowledged {
  const [seen, setSeen] = useState(now);
  if (seen === undefined && now !== undefined) setSeen(now);
  const isChanged = seen !== undefined && now?.status === "pending" && markOf(seen) !== markOf(now);
  return { meant: isChanged ? seen : now, isChanged, acknowledge: setSeen };
}

/** What a yes is a yes to; not who has voted since, nor how long it still waits. */
export function markOf({ shown_digest, routed }: ApprovalView): string {
  return JSON.stringify([shown_digest, routed]);
}
